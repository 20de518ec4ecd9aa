package policy

import (
	"fmt"
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// A reader collects what is wrong with one text.
type reader struct {
	lenient  bool
	problems []Problem
	warnings []Warning
	gaveUp   bool // a bound was passed: what is reported after that is noise
}

// add takes up a problem.
func (r *reader) add(p Problem) {
	switch {
	case r.gaveUp:
	case len(r.problems) < problemsMax:
		r.problems = append(r.problems, p)
	default:
		p.Message = fmt.Sprintf("more than %d errors, the others are not shown", problemsMax)
		r.problems, r.gaveUp = append(r.problems, p), true
	}
}

// warn takes up a warning.
func (r *reader) warn(w Warning) {
	switch n := len(r.warnings); {
	case r.gaveUp || n > problemsMax:
	case n == problemsMax:
		w.Message = fmt.Sprintf("more than %d warnings, the others are not shown", problemsMax)
		fallthrough
	default:
		r.warnings = append(r.warnings, w)
	}
}

func (r *reader) failed() bool { return len(r.problems) > 0 }

// A cursor is a value of the text together with where it stands, so that a problem
// with it can be reported. Cursors are values: moving one makes another.
type cursor struct {
	yamltree.Value
	read *reader
}

// problem is one at the value.
func (c cursor) problem(format string, args ...any) Problem {
	return Problem{Line: max(c.Line, 1), Column: max(c.Column, 1), Path: c.Path, Message: fmt.Sprintf(format, args...)}
}

// fail reports an error at the value.
func (c cursor) fail(format string, args ...any) { c.read.add(c.problem(format, args...)) }

// warn reports a warning at the value.
func (c cursor) warn(format string, args ...any) { c.read.warn(c.problem(format, args...)) }

func (c cursor) moved(v yamltree.Value) cursor {
	c.Value = v
	return c
}

// atKey is the value with the position of its key.
func (c cursor) atKey() cursor { return c.moved(c.AtKey()) }

// report reports an error at a value.
func (c cursor) report(at yamltree.Value, problem string) { c.moved(at).fail("%s", problem) }

// items are the values of a list.
func (c cursor) items() []cursor {
	values := c.List(c.report)
	out := make([]cursor, len(values))
	for i, v := range values {
		out[i] = c.moved(v)
	}
	return out
}

// each calls visit for the entries of a mapping whose keys make sense, and reports the
// others.
func (c cursor) each(visit func(key string, value cursor)) {
	c.Each(c.report, func(key string, value yamltree.Value) { visit(key, c.moved(value)) })
}

// A field is a key that is known in a mapping, and what reads its value.
type field struct {
	key  string
	read func(cursor)
}

// fields reads a mapping in which only the given keys may stand; where the reading is
// lenient an unknown one is a warning. A key without a value counts as not given.
func (c cursor) fields(known ...field) {
	c.each(func(key string, value cursor) {
		i := slices.IndexFunc(known, func(f field) bool { return f.key == key })
		switch {
		case i < 0 && c.read.lenient:
			value.atKey().warn("%s; it is left out", yamltree.UnknownKey(key, keysOf(known)))
		case i < 0:
			value.atKey().fail("%s", yamltree.UnknownKey(key, keysOf(known)))
		case !value.IsNull():
			known[i].read(value)
		}
	})
}

func keysOf(known []field) []string {
	keys := make([]string, len(known))
	for i, f := range known {
		keys[i] = f.key
	}
	return keys
}

// text is a plain text; false if it is something else.
func (c cursor) text() (string, bool) {
	if !c.IsScalar() {
		c.fail("must be a text, not %s", c.Describe())
		return "", false
	}
	switch c.Node.ShortTag() {
	case "!!str", "!!timestamp":
		return c.Node.Value, true
	case "!!null":
		return "", true
	}
	c.fail("must be a text, not %s; write it in quotes", yamltree.Clip(c.Node.Value))
	return "", false
}

// boolean is true or false; ok is false if it is something else.
func (c cursor) boolean() (value, ok bool) { return c.Bool(c.report) }

// integer is a whole number within bounds; false if it is something else.
func (c cursor) integer(least, most int64) (n int64, ok bool) {
	if !c.IsScalar() || c.Node.ShortTag() != "!!int" || c.Node.Decode(&n) != nil || n < least || n > most {
		c.fail("must be a whole number %s, not %s", bounds(least, most), c.Describe())
		return 0, false
	}
	return n, true
}

func bounds(least, most int64) string {
	switch {
	case most >= math.MaxInt32 && least <= math.MinInt32:
		return "such as 10"
	case most >= math.MaxInt32:
		return fmt.Sprintf("of at least %d", least)
	default:
		return fmt.Sprintf("from %d to %d", least, most)
	}
}

// number is any finite number; false if it is something else.
func (c cursor) number() (n float64, ok bool) {
	tag := c.Node.ShortTag()
	if !c.IsScalar() || tag != "!!int" && tag != "!!float" || c.Node.Decode(&n) != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		c.fail("must be a number such as 1.5, not %s", c.Describe())
		return 0, false
	}
	return n, true
}

// count is a whole number of at least zero, for a limit; nil if it is something else.
func (c cursor) count() *int {
	n, ok := c.integer(0, math.MaxInt32)
	if !ok {
		return nil
	}
	count := int(n)
	return &count
}
