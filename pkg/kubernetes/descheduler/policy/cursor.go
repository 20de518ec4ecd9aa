package policy

import (
	"fmt"
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
	if !c.IsList() {
		instead := ""
		if c.IsScalar() && c.Node.Value != "" {
			instead = "; write [" + yamltree.Clip(c.Node.Value) + "]"
		}
		c.fail("must be a list, not %s%s", c.shown(), instead)
		return nil
	}
	values := c.Items()
	out := make([]cursor, len(values))
	for i, v := range values {
		out[i] = c.moved(v)
	}
	return out
}

// each calls visit for the entries of a mapping whose keys make sense, and reports the
// others.
func (c cursor) each(visit func(key string, value cursor)) {
	if !c.IsMapping() {
		c.fail("must be a mapping of keys and values, not %s", c.shown())
		return
	}
	c.Each(c.report, func(key string, value yamltree.Value) { visit(key, c.moved(value)) })
}

// A field is a key that is known in a mapping, and what reads its value.
type field struct {
	key  string
	read func(cursor)
}

// fields reads a mapping in which only the given keys may stand; where the reading is
// lenient an unknown one is a warning. A key without a value counts as not given.
func (c cursor) fields(known ...field) { c.fieldsOr(nil, known...) }

// fieldsOr is fields with a hint for some unknown keys; empty: none.
func (c cursor) fieldsOr(hint func(key string) string, known ...field) {
	unknown := unknownKeys(keysOf(known), hint)
	c.each(func(key string, value cursor) {
		i := slices.IndexFunc(known, func(f field) bool { return f.key == key })
		switch {
		case i < 0 && c.read.lenient:
			value.atKey().warn("%s; it is left out", unknown(key))
		case i < 0:
			value.atKey().fail("%s", unknown(key))
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

// unknownKeys says what is wrong with the unknown keys of one mapping. Which keys there are is
// said once.
func unknownKeys(known []string, hint func(key string) string) func(key string) string {
	listed := false
	return func(key string) string {
		if hint != nil && hint(key) != "" {
			return "unknown key; " + hint(key)
		}
		if len(known) == 0 {
			return "unknown key; none is known here"
		}
		if yamltree.Nearest(key, known) == "" {
			if listed {
				return "unknown key"
			}
			listed = true
		}
		return yamltree.UnknownKey(key, known)
	}
}

// ofEvictor is where keys went that say which pods are not evicted.
const ofEvictor = "it is an argument of DefaultEvictor, in profiles[].pluginConfig[].args"

// elsewhere says where keys are that other versions have at the top, or that are looked for there.
var elsewhere = map[string]string{
	"strategies":              "profiles[].plugins says which plugins are enabled, and profiles[].pluginConfig has their arguments",
	"evictLocalStoragePods":   ofEvictor,
	"evictDaemonSetPods":      ofEvictor,
	"evictSystemCriticalPods": ofEvictor,
	"evictFailedBarePods":     ofEvictor,
	"ignorePvcPods":           ofEvictor,
	"ignorePodsWithoutPDB":    ofEvictor,
	"minReplicas":             ofEvictor,
	"minPodAge":               ofEvictor,
	"nodeFit":                 ofEvictor,
	"pluginConfig":            "it belongs below profiles[]",
	"plugins":                 "it belongs below profiles[]",
}
