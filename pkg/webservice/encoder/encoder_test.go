package encoder

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestListsByKey are written in the order of their keys, and the list of a view is
// left as it is.
func TestListsByKey(t *testing.T) {
	type named struct{ Name string }
	list := []*named{{"c"}, {"a"}, {"b"}}
	kept := slices.Clone(list)
	keyOf := func(n *named) string { return n.Name }
	l := EachByKey(list, keyOf, func(from, into *named) { *into = *from })
	for range 2 {
		var out bytes.Buffer
		e := New(new(resources.Kinds), &out)
		e.Any(l)
		e.Flush()
		assert.Equal(t, out.String(), `[{"Name":"a"},{"Name":"b"},{"Name":"c"}]`)
	}
	assert.Assert(t, slices.Equal(list, kept))
	sorted := byKey(list, keyOf)
	assert.Equal(t, &byKey(sorted, keyOf)[0], &sorted[0]) // nothing is made for a list in order
}

// TestSiblings writes maps with the same keys, other keys and fewer keys one after
// the other, which share the sorted keys where they can.
func TestSiblings(t *testing.T) {
	maps := []map[string]string{{"b": "1", "a": "2"}, {"a": "3", "b": "4"}, {"c": "5", "a": "6"}, {"a": "7"}, {"b": "8", "a": "9"}}
	var out bytes.Buffer
	e := New(new(resources.Kinds), &out)
	for _, m := range maps {
		e.Open('{')
		e.Texts("m", m)
		e.Close('}')
		e.Flush()
		want, err := json.Marshal(map[string]any{"m": m})
		assert.NilError(t, err)
		assert.Equal(t, out.String(), string(want))
		out.Reset()
	}
}
