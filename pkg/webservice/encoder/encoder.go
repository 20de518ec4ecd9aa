// Package encoder writes values as JSON: objects of which there may be very many field by
// field, lists of them while they are made.
//
// Read in this order:
//
//	encoder.go   objects and their members
//	items.go     lists that are made while they are written, and types of members
package encoder

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

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

// Text writes a member that is a text.
func (e *Encoder) Text(name, value string) {
	if e.Member(name) {
		e.buffer = appendText(e.buffer, value)
	}
}

// TextIf leaves out the empty text.
func (e *Encoder) TextIf(name, value string) {
	if value != "" {
		e.Text(name, value)
	}
}

// Integer writes a member that is a whole number.
func (e *Encoder) Integer(name string, value int64) {
	if e.Member(name) {
		e.buffer = strconv.AppendInt(e.buffer, value, 10)
	}
}

// IntegerIf leaves out zero.
func (e *Encoder) IntegerIf(name string, value int64) {
	if value != 0 {
		e.Integer(name, value)
	}
}

// Quoted writes a number as a text, as some clients know it.
func (e *Encoder) Quoted(name string, value int64) {
	if e.Member(name) {
		e.buffer = append(strconv.AppendInt(append(e.buffer, '"'), value, 10), '"')
	}
}

// Truth writes a member that is true or false.
func (e *Encoder) Truth(name string, value bool) {
	if e.Member(name) {
		e.buffer = strconv.AppendBool(e.buffer, value)
	}
}

// TruthIf leaves out false.
func (e *Encoder) TruthIf(name string, value bool) {
	if value {
		e.Truth(name, true)
	}
}

// Time writes nanoseconds since the epoch; the zero time is 0.
func (e *Encoder) Time(name string, value time.Time) {
	e.Integer(name, int64(NanosecondsOf(value)))
}

// TimeIf leaves out the zero time.
func (e *Encoder) TimeIf(name string, value time.Time) {
	if !value.IsZero() {
		e.Integer(name, value.UnixNano())
	}
}

// Amounts writes an object by kind, without zeros.
func (e *Encoder) Amounts(name string, value resources.Amounts) {
	if value.IsZero() || !e.Member(name) {
		return
	}
	if !e.indent && e.written != nil && slices.Equal(value, e.amount) {
		e.buffer = append(e.buffer, e.written...)
		return
	}
	from := len(e.buffer)
	e.Open('{')
	for i := range e.kinds {
		if quantity := value.Of(e.kinds[i].number); quantity != 0 {
			e.key(e.kinds[i].key)
			e.buffer = strconv.AppendInt(e.buffer, quantity, 10)
		}
	}
	e.Close('}')
	e.amount, e.written = value, append(e.written[:0], e.buffer[from:]...)
}

// Limits writes an object by kind, without what is unlimited. A limit of zero is
// there: left out it would be taken for none.
func (e *Encoder) Limits(name string, value resources.Limits) {
	limited := func(quantity int64) bool { return quantity != resources.Unlimited }
	if !slices.ContainsFunc(value, limited) || !e.Member(name) {
		return
	}
	e.Open('{')
	for i := range e.kinds {
		if quantity := value.Of(e.kinds[i].number); limited(quantity) {
			e.key(e.kinds[i].key)
			e.buffer = strconv.AppendInt(e.buffer, quantity, 10)
		}
	}
	e.Close('}')
}

// Texts writes a map of texts.
func (e *Encoder) Texts(name string, value map[string]string) {
	if len(value) == 0 || !e.Member(name) {
		return
	}
	e.Open('{')
	for _, m := range e.sorted(value) {
		e.key(m.key)
		e.buffer = appendText(e.buffer, m.value)
	}
	e.Close('}')
}

// sorted is the members of a map in order. The keys are those from before if they
// still hold; what is returned is valid until the next call.
func (e *Encoder) sorted(m map[string]string) []textMember {
	last := e.last[len(m)%len(e.last)]
	if len(last) == len(m) && valuesInto(last, m) {
		return last
	}
	last = last[:0]
	for name, value := range m {
		last = append(last, textMember{name, memberKey(name), value})
	}
	slices.SortFunc(last, func(a, b textMember) int { return strings.Compare(a.name, b.name) })
	e.last[len(m)%len(e.last)] = last
	return last
}

// valuesInto takes the values of members from a map, and reports whether all are
// there.
func valuesInto(members []textMember, m map[string]string) bool {
	for i := range members {
		value, ok := m[members[i].name]
		if !ok {
			return false
		}
		members[i].value = value
	}
	return true
}

// Other writes a member of a type that has no function of its own.
func (e *Encoder) Other(name string, value any) {
	if e.Member(name) {
		e.Any(value)
	}
}

// List writes a list that is made while it is written, if it has elements.
func (e *Encoder) List(name string, value List) {
	if value.Length() > 0 && e.Member(name) {
		value.Encode(e)
	}
}

// Names writes a list of names.
func Names[T ~string](e *Encoder, name string, value []T) {
	if len(value) == 0 || !e.Member(name) {
		return
	}
	e.Open('[')
	for _, one := range value {
		e.Next()
		e.buffer = appendText(e.buffer, string(one))
	}
	e.Close(']')
}

// Objects writes a list of objects.
func Objects[T any, P interface {
	*T
	Object
}](e *Encoder, name string, value []T) {
	if len(value) == 0 || !e.Member(name) {
		return
	}
	e.Open('[')
	for i := range value {
		e.Next()
		P(&value[i]).Encode(e)
		e.Spare()
	}
	e.Close(']')
}

// plain are the bytes that stand for themselves in a text.
var plain = func() (out [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		out[c] = !strings.ContainsRune(`"\<>&`, c)
	}
	return out
}()

// appendText quotes a text. What needs escaping is left to encoding/json.
func appendText(to []byte, s string) []byte {
	for i := range len(s) {
		if !plain[s[i]] {
			quoted, _ := json.Marshal(s) // of a text never fails
			return append(to, quoted...)
		}
	}
	to = append(to, '"')
	to = append(to, s...)
	return append(to, '"')
}
