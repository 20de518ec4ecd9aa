package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A cursor is a value of the text together with where it stands, so that a
// problem with it can be told. Cursors are values: moving one makes another.
type cursor struct {
	read  *reader
	node  *yaml.Node // never an alias
	key   *yaml.Node // the key that leads here; nil in a list
	place Place      // its line and column are those of node
}

// fail reports an error at the value.
func (c cursor) fail(format string, args ...any) {
	c.read.add(Problem{Place: c.place, Message: fmt.Sprintf(format, args...)})
}

// warn reports a warning at the value.
func (c cursor) warn(format string, args ...any) {
	c.read.add(Problem{Place: c.place, Severity: Warning, Message: fmt.Sprintf(format, args...)})
}

// later reports that what the value asks for does not happen yet, at its key.
func (c cursor) later(consequence string) {
	if c.key != nil {
		c.place.Line, c.place.Column = c.key.Line, c.key.Column
	}
	c.warn("not in effect yet: %s", consequence)
}

// enter is the value of a key.
func (c cursor) enter(e entry) cursor {
	key := c.place.Key + "." + clip(e.key)
	if c.place.Key == "" {
		key = clip(e.key)
	}
	return c.moved(e.value, e.name, key)
}

func (c cursor) moved(node, key *yaml.Node, name string) cursor {
	c.node, c.key = follow(node), key
	c.place.Line, c.place.Column, c.place.Key = c.node.Line, c.node.Column, name
	return c
}

// atQueue is the same value, inside of the queue.
func (c cursor) atQueue(path core.QueuePath) cursor {
	c.place.Queue, c.place.Key = path, ""
	return c
}

// items are the values of a list.
func (c cursor) items() []cursor {
	if c.node.Kind != yaml.SequenceNode {
		c.fail("must be a list, not %s", describe(c.node))
		return nil
	}
	out := make([]cursor, 0, len(c.node.Content))
	for i, node := range c.node.Content {
		if !c.read.visit() {
			return nil
		}
		out = append(out, c.moved(node, nil, c.place.Key+"["+strconv.Itoa(i)+"]"))
	}
	return out
}

// each calls visit for the entries of a mapping whose keys make sense, and
// reports the others.
func (c cursor) each(visit func(key string, value cursor)) {
	if c.node.Kind != yaml.MappingNode {
		c.fail("must be a mapping of keys and values, not %s", describe(c.node))
		return
	}
	for _, e := range c.entries() {
		if e.wrong != "" {
			c.enter(e).atKey().fail("%s", e.wrong)
			continue
		}
		visit(e.key, c.enter(e))
	}
}

// atKey is the value with the position of its key.
func (c cursor) atKey() cursor {
	c.place.Line, c.place.Column = c.key.Line, c.key.Column
	return c
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
			value.atKey().fail("%s", unknownKey(key, known))
		case !isNull(value.node):
			known[i].read(value)
		}
	})
}

func unknownKey(key string, known []field) string {
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.key
	}
	if meant := nearest(key, names); meant != "" {
		return "unknown key, did you mean " + meant + "?"
	}
	return "unknown key, known here: " + strings.Join(names, ", ")
}

// text is a plain value as it was typed.
func (c cursor) text() string {
	if c.node.Kind != yaml.ScalarNode {
		c.fail("must be a text, not %s", describe(c.node))
		return ""
	}
	if isNull(c.node) {
		return ""
	}
	return c.node.Value
}

// boolean is true or false; ok is false if it is something else.
func (c cursor) boolean() (value, ok bool) {
	if c.node.Kind != yaml.ScalarNode || c.node.Decode(&value) != nil {
		c.fail("must be true or false, not %s", describe(c.node))
		return false, false
	}
	return value, true
}

// count is a whole number of at least zero; false if it is something else.
func (c cursor) count() (uint64, bool) {
	var n uint64
	if c.node.Kind != yaml.ScalarNode || c.node.ShortTag() != "!!int" || c.node.Decode(&n) != nil {
		c.fail("must be a whole number of at least 0, not %s", describe(c.node))
		return 0, false
	}
	return n, true
}

// number is any number; false if it is something else.
func (c cursor) number() (float64, bool) {
	tag := c.node.ShortTag()
	var n float64
	if c.node.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || c.node.Decode(&n) != nil {
		c.fail("must be a number such as 1.0, not %s", describe(c.node))
		return 0, false
	}
	return n, true
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// describe says what a value is.
func describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(node):
		return "nothing"
	default:
		return quote(node.Value)
	}
}
