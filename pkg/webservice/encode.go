package webservice

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

// chunkBytes is how much an encoder collects before it hands it on, and how much a
// reply keeps in one piece.
const chunkBytes = 64 << 10

// An object writes itself. Those of which an answer may hold many thousands do:
// nodes, allocations, asks, applications and queues. All other values are written
// by encoding/json.
type object interface{ encode(e *encoder) }

// An encoder writes values as JSON. It has a function for each type that members of
// objects have. Those whose names end in If leave out a member without a value;
// amounts, limits, maps and lists are always left out if they are empty.
type encoder struct {
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
	name   string
	key    string // the name as the key of a member
}

// A textMember is a member of a map of texts. The key is its name as it is written.
type textMember struct{ name, key, value string }

func newEncoder(kinds *resources.Kinds, to io.Writer) *encoder {
	return &encoder{to: to, kinds: sortedKinds(kinds), buffer: make([]byte, 0, 4<<10)}
}

func sortedKinds(table *resources.Kinds) []kind {
	out := make([]kind, table.Len())
	for i := range out {
		name := table.Name(resources.Kind(i))
		out[i] = kind{resources.Kind(i), name, memberKey(name)}
	}
	slices.SortFunc(out, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	return out
}

// memberKey is a name as the key of a member.
func memberKey(name string) string { return string(appendText(nil, name)) + ":" }

// any writes anything. What encoding/json cannot write panics: the types are those
// of this package.
func (e *encoder) any(x any) {
	if o, ok := x.(object); ok {
		o.encode(e)
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

// some writes the wanted members of an object.
func (e *encoder) some(content []byte) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil {
		panic(err)
	}
	e.open('{')
	for _, name := range e.fields {
		if value, ok := members[name]; ok {
			e.key(memberKey(name))
			e.buffer = append(e.buffer, value...)
		}
	}
	e.close('}')
}

// flush hands on all that is written.
func (e *encoder) flush() {
	_, _ = e.to.Write(e.buffer) // into memory, which does not fail
	e.buffer = e.buffer[:0]
}

// spare hands on what is written if it is much.
func (e *encoder) spare() {
	if len(e.buffer) >= chunkBytes {
		e.flush()
	}
}

func (e *encoder) raw(text string) { e.buffer = append(e.buffer, text...) }

func (e *encoder) open(bracket byte) {
	e.buffer = append(e.buffer, bracket)
	e.depth++
	e.fresh = true
}

func (e *encoder) close(bracket byte) {
	e.depth--
	if !e.fresh {
		e.line()
	}
	e.buffer = append(e.buffer, bracket)
	e.fresh = false
}

// next begins one more member or element.
func (e *encoder) next() {
	if !e.fresh {
		e.buffer = append(e.buffer, ',')
	}
	e.fresh = false
	e.line()
}

func (e *encoder) line() {
	if e.indent {
		e.buffer = append(e.buffer, '\n')
		for range e.depth {
			e.buffer = append(e.buffer, ' ', ' ')
		}
	}
}

// key begins a member.
func (e *encoder) key(key string) {
	e.next()
	e.raw(key)
	if e.indent {
		e.buffer = append(e.buffer, ' ')
	}
}

// member begins a member whose name needs no escaping. It reports false if the
// member is not wanted.
func (e *encoder) member(name string) bool {
	if e.fields != nil && e.depth == e.level && !slices.Contains(e.fields, name) {
		return false
	}
	e.next()
	e.buffer = append(e.buffer, '"')
	e.buffer = append(e.buffer, name...)
	e.buffer = append(e.buffer, '"', ':')
	if e.indent {
		e.buffer = append(e.buffer, ' ')
	}
	return true
}

func (e *encoder) text(name, value string) {
	if e.member(name) {
		e.buffer = appendText(e.buffer, value)
	}
}

func (e *encoder) textIf(name, value string) {
	if value != "" {
		e.text(name, value)
	}
}

func (e *encoder) integer(name string, value int64) {
	if e.member(name) {
		e.buffer = strconv.AppendInt(e.buffer, value, 10)
	}
}

func (e *encoder) integerIf(name string, value int64) {
	if value != 0 {
		e.integer(name, value)
	}
}

// quoted writes a number as a text, as some clients know it.
func (e *encoder) quoted(name string, value int64) {
	if e.member(name) {
		e.buffer = append(strconv.AppendInt(append(e.buffer, '"'), value, 10), '"')
	}
}

func (e *encoder) truth(name string, value bool) {
	if e.member(name) {
		e.buffer = strconv.AppendBool(e.buffer, value)
	}
}

func (e *encoder) truthIf(name string, value bool) {
	if value {
		e.truth(name, true)
	}
}

// time writes nanoseconds since the epoch; the zero time is 0.
func (e *encoder) time(name string, value time.Time) {
	e.integer(name, int64(nanosecondsOf(value)))
}

func (e *encoder) timeIf(name string, value time.Time) {
	if !value.IsZero() {
		e.integer(name, value.UnixNano())
	}
}

// amounts writes an object by kind, without zeros.
func (e *encoder) amounts(name string, value resources.Amounts) {
	if value.IsZero() || !e.member(name) {
		return
	}
	if !e.indent && e.written != nil && slices.Equal(value, e.amount) {
		e.buffer = append(e.buffer, e.written...)
		return
	}
	from := len(e.buffer)
	e.open('{')
	for i := range e.kinds {
		if quantity := value.Of(e.kinds[i].number); quantity != 0 {
			e.key(e.kinds[i].key)
			e.buffer = strconv.AppendInt(e.buffer, quantity, 10)
		}
	}
	e.close('}')
	e.amount, e.written = value, append(e.written[:0], e.buffer[from:]...)
}

// limits writes an object by kind, without what is unlimited. A limit of zero is
// there: left out it would be taken for none.
func (e *encoder) limits(name string, value resources.Limits) {
	limited := func(quantity int64) bool { return quantity != resources.Unlimited }
	if !slices.ContainsFunc(value, limited) || !e.member(name) {
		return
	}
	e.open('{')
	for i := range e.kinds {
		if quantity := value.Of(e.kinds[i].number); limited(quantity) {
			e.key(e.kinds[i].key)
			e.buffer = strconv.AppendInt(e.buffer, quantity, 10)
		}
	}
	e.close('}')
}

// texts writes a map of texts.
func (e *encoder) texts(name string, value map[string]string) {
	if len(value) == 0 || !e.member(name) {
		return
	}
	e.open('{')
	for _, m := range e.sorted(value) {
		e.key(m.key)
		e.buffer = appendText(e.buffer, m.value)
	}
	e.close('}')
}

// sorted is the members of a map in order. The keys are those from before if they
// still hold; what is returned is valid until the next call.
func (e *encoder) sorted(m map[string]string) []textMember {
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

// other writes a member of a type that has no function of its own.
func (e *encoder) other(name string, value any) {
	if e.member(name) {
		e.any(value)
	}
}

// list writes a list that is made while it is written, if it has elements.
func (e *encoder) list(name string, value lazyList) {
	if value.length() > 0 && e.member(name) {
		value.encode(e)
	}
}

// encodeNames writes a list of names.
func encodeNames[T ~string](e *encoder, name string, value []T) {
	if len(value) == 0 || !e.member(name) {
		return
	}
	e.open('[')
	for _, one := range value {
		e.next()
		e.buffer = appendText(e.buffer, string(one))
	}
	e.close(']')
}

// encodeObjects writes a list of objects.
func encodeObjects[T any, P interface {
	*T
	object
}](e *encoder, name string, value []T) {
	if len(value) == 0 || !e.member(name) {
		return
	}
	e.open('[')
	for i := range value {
		e.next()
		P(&value[i]).encode(e)
		e.spare()
	}
	e.close(']')
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
