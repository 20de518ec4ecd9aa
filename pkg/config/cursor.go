package config

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// A cursor is a value of the text together with where it stands, so that a
// problem with it can be reported. Cursors are values: moving one makes another.
type cursor struct {
	yamltree.Value
	read  *reader
	place Place // its line, column and key are those of the value
}

// fail reports an error at the value.
func (c cursor) fail(format string, args ...any) {
	c.read.add(Problem{Place: c.place, Message: fmt.Sprintf(format, args...)})
}

// warn reports a warning at the value.
func (c cursor) warn(format string, args ...any) {
	c.read.add(Problem{Place: c.place, Severity: Warning, Message: fmt.Sprintf(format, args...)})
}

// moved is another value of the same partition and queue.
func (c cursor) moved(v yamltree.Value) cursor {
	c.Value = v
	c.place.Line, c.place.Column, c.place.Key = v.Line, v.Column, v.Path
	return c
}

// atKey is the value with the position of its key.
func (c cursor) atKey() cursor { return c.moved(c.AtKey()) }

// atPartition is the same value, as that of a partition.
func (c cursor) atPartition(name string) cursor {
	c.place.Partition = name
	return c.moved(c.Rooted())
}

// atQueue is the same value, inside of the queue.
func (c cursor) atQueue(path api.QueuePath) cursor {
	c.place.Queue = path
	return c.moved(c.Rooted())
}

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

// find is the value of a key, if the mapping has it.
func (c cursor) find(key string) (cursor, bool) {
	v, ok := c.Find(key)
	if !ok {
		return cursor{}, false
	}
	return c.moved(v), true
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

// fields reads a mapping in which only the given keys may stand. A key without
// a value counts as not given.
func (c cursor) fields(known ...field) {
	c.each(func(key string, value cursor) {
		i := slices.IndexFunc(known, func(f field) bool { return f.key == key })
		switch {
		case i < 0:
			value.atKey().fail("%s", yamltree.UnknownKey(key, fieldKeys(known)))
		case !value.IsNull():
			known[i].read(value)
		}
	})
}

func fieldKeys(known []field) []string {
	keys := make([]string, len(known))
	for i, f := range known {
		keys[i] = f.key
	}
	return keys
}

// text is a plain value as it was typed.
func (c cursor) text() string {
	if !c.IsScalar() {
		c.fail("must be a text, not %s", c.Describe())
		return ""
	}
	if c.IsNull() {
		return ""
	}
	return c.Node.Value
}

// boolean is true or false; ok is false if it is something else.
func (c cursor) boolean() (value, ok bool) { return c.Bool(c.report) }

// count is a whole number of at least zero; false if it is something else.
func (c cursor) count() (uint64, bool) {
	var n uint64
	if !c.IsScalar() || c.Node.ShortTag() != "!!int" || c.Node.Decode(&n) != nil {
		c.fail("must be a whole number of at least 0, not %s", c.Describe())
		return 0, false
	}
	return n, true
}

// number is any number; false if it is something else.
func (c cursor) number() (float64, bool) {
	tag := c.Node.ShortTag()
	var n float64
	if !c.IsScalar() || tag != "!!int" && tag != "!!float" || c.Node.Decode(&n) != nil {
		c.fail("must be a number such as 1.0, not %s", c.Describe())
		return 0, false
	}
	return n, true
}

// quotedMax is how many bytes of what was typed are repeated in a problem.
const quotedMax = yamltree.QuotedMax

func clip(text string) string { return yamltree.Clip(text) }

func quote(text string) string { return yamltree.Quote(text) }
