// Package encoder writes values as JSON: objects of which there may be very many field by
// field, lists of them while they are made.
//
// Read in this order:
//
//	encoder.go   what is written, with which fields, and where to
//	members.go   members of objects
//	items.go     lists that are made while they are written, and types of members
package encoder

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// ChunkBytes is how much an encoder collects before it hands it on, and how much a
// reply keeps in one piece.
const ChunkBytes = 64 << 10

// An Object writes itself. Those of which an answer may hold many thousands do:
// nodes, allocations, asks, applications and queues. All other values are written
// by encoding/json.
type Object interface{ Encode(e *Encoder) }

// An Encoder writes values as JSON. It has a function for each type that members of
// objects have. Those whose names end in If leave out a member without a value;
// amounts, limits, maps and lists are always left out if they are empty.
type Encoder struct {
	buffer []byte
	to     io.Writer
	kinds  []kind // sorted by name
	indent bool   // one member a line
	depth  int
	fresh  bool // nothing was written yet inside of the innermost bracket

	// fields are the members of the objects at a depth that are written; nil is
	// all.
	fields []string
	level  int

	last    [16][]textMember  // of the last map of texts of each size; siblings mostly have the same keys
	amount  resources.Amounts // that were written last; siblings mostly ask for the same
	written []byte            // for them
}

// A kind is a resource kind as it is written.
type kind struct {
	number resources.Kind
	key    string // its name as the key of a member
}

// A textMember is a member of a map of texts. The key is its name as it is written.
type textMember struct{ name, key, value string }

// New makes an encoder that hands on what it writes. It writes amounts of the kinds
// that there are now.
func New(kinds *resources.Kinds, to io.Writer) *Encoder {
	e := &Encoder{to: to, buffer: make([]byte, 0, 4<<10)}
	for _, k := range SortedKinds(kinds) {
		e.kinds = append(e.kinds, kind{k, memberKey(kinds.Name(k))})
	}
	return e
}

// Indent writes all that follows with one member a line.
func (e *Encoder) Indent() { e.indent = true }

// SortedKinds is the kinds of a table by name.
func SortedKinds(table *resources.Kinds) []resources.Kind {
	out := make([]resources.Kind, table.Len())
	for i := range out {
		out[i] = resources.Kind(i)
	}
	slices.SortFunc(out, func(a, b resources.Kind) int { return strings.Compare(table.Name(a), table.Name(b)) })
	return out
}

// memberKey is a name as the key of a member.
func memberKey(name string) string { return string(appendText(nil, name)) + ":" }

// Any writes anything. What encoding/json cannot write panics: the types are those
// of packages that write with it.
func (e *Encoder) Any(x any) {
	if o, ok := x.(Object); ok {
		o.Encode(e)
		return
	}
	content, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	switch {
	case e.fields != nil && e.depth == e.level-1:
		e.some(content)
	case e.indent:
		out := bytes.NewBuffer(e.buffer)
		_ = json.Indent(out, content, strings.Repeat("  ", e.depth), "  ") // it is JSON
		e.buffer = out.Bytes()
	default:
		e.buffer = append(e.buffer, content...)
	}
	e.fresh = false
}

// Choose writes an object or a list of objects with some of their fields; nil is all.
func (e *Encoder) Choose(x any, fields []string) {
	e.fields, e.level = fields, e.depth+1
	if _, ok := x.(List); ok {
		e.level++
	}
	e.Any(x)
}

// some writes the wanted members of an object.
func (e *Encoder) some(content []byte) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil {
		panic(err)
	}
	e.Open('{')
	for _, name := range e.fields {
		if value, ok := members[name]; ok {
			e.key(memberKey(name))
			e.buffer = append(e.buffer, value...)
		}
	}
	e.Close('}')
}

// Flush hands on all that is written.
func (e *Encoder) Flush() {
	_, _ = e.to.Write(e.buffer) // into memory, which does not fail
	e.buffer = e.buffer[:0]
}

// Spare hands on what is written if it is much.
func (e *Encoder) Spare() {
	if len(e.buffer) >= ChunkBytes {
		e.Flush()
	}
}

func (e *Encoder) raw(text string) { e.buffer = append(e.buffer, text...) }

// Open begins an object or a list.
func (e *Encoder) Open(bracket byte) {
	e.buffer = append(e.buffer, bracket)
	e.depth++
	e.fresh = true
}

// Close ends it.
func (e *Encoder) Close(bracket byte) {
	e.depth--
	if !e.fresh {
		e.line()
	}
	e.buffer = append(e.buffer, bracket)
	e.fresh = false
}

// Next begins one more member or element.
func (e *Encoder) Next() {
	if !e.fresh {
		e.buffer = append(e.buffer, ',')
	}
	e.fresh = false
	e.line()
}

func (e *Encoder) line() {
	if e.indent {
		e.buffer = append(e.buffer, '\n')
		for range e.depth {
			e.buffer = append(e.buffer, ' ', ' ')
		}
	}
}

// key begins a member.
func (e *Encoder) key(key string) {
	e.Next()
	e.raw(key)
	if e.indent {
		e.buffer = append(e.buffer, ' ')
	}
}

// Member begins a member whose name needs no escaping. It reports false if the
// member is not wanted.
func (e *Encoder) Member(name string) bool {
	if e.fields != nil && e.depth == e.level && !slices.Contains(e.fields, name) {
		return false
	}
	e.Next()
	e.buffer = append(e.buffer, '"')
	e.buffer = append(e.buffer, name...)
	e.buffer = append(e.buffer, '"', ':')
	if e.indent {
		e.buffer = append(e.buffer, ' ')
	}
	return true
}
