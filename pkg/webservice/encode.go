package webservice

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// chunkBytes is how much an encoder collects before it hands it on.
const chunkBytes = 63 << 10

// A sink takes what an encoder wrote and gives back a buffer for more.
type sink func(chunk []byte) []byte

// An encoder writes values as JSON, the fields of a struct in their order and
// the keys of a map sorted. It reads the tags that encoding/json reads and says
// the same, with these types on top: times are nanoseconds since the epoch,
// amounts and limits are objects by kind, and a sequence is a list that is never
// whole in memory.
//
// It exists because a list of all allocations is tens of megabytes, of which
// encoding/json sorts, copies and checks every byte more than once.
type encoder struct {
	buffer []byte
	sink   sink
	kinds  []kind // sorted by name
	indent bool
	depth  int
	fresh  bool          // nothing was written yet inside of the innermost bracket
	keys   [16][]textKey // of the last map of texts of each size; siblings mostly have the same
	times  [8]repeat[int64]
	last   repeat[resources.Amounts]
}

// A repeat is a value with what was written for it. Of the allocations in a list many
// came and were placed at the same moment, and ask for the same.
type repeat[T any] struct {
	value T
	text  []byte
}

// A kind is a resource kind as it is written.
type kind struct {
	number resources.Kind
	key    string // the name with quotes and colon
}

func newEncoder(kinds *resources.Kinds, to sink) *encoder {
	return &encoder{sink: to, kinds: sortedKinds(kinds)}
}

func sortedKinds(table *resources.Kinds) []kind {
	names := make([]string, table.Len())
	for i := range names {
		names[i] = table.Name(resources.Kind(i))
	}
	slices.Sort(names)
	out := make([]kind, 0, len(names))
	for _, name := range names {
		if number, ok := table.Lookup(name); ok {
			out = append(out, kind{number: number, key: string(appendText(nil, name)) + ":"})
		}
	}
	return out
}

// value writes anything.
func (e *encoder) value(x any) {
	switch x := x.(type) {
	case nil:
		e.raw("null")
	case *selection:
		e.selected(x)
	default:
		v := reflect.ValueOf(x)
		encoderOf(v.Type())(e, addressOf(v))
	}
}

// selected writes an object, or the objects of a list, with some of the fields.
func (e *encoder) selected(s *selection) {
	if list, ok := s.value.(sequence); ok {
		list.encode(e, s.shape)
		return
	}
	s.shape.encode(e, reflect.ValueOf(s.value).UnsafePointer())
}

func (e *encoder) raw(text string) { e.buffer = append(e.buffer, text...) }

func (e *encoder) open(bracket byte) {
	e.buffer = append(e.buffer, bracket)
	e.depth++
	e.fresh = true
}

// next begins one more member or element.
func (e *encoder) next() {
	if !e.fresh {
		e.buffer = append(e.buffer, ',')
	}
	e.fresh = false
	e.line()
}

func (e *encoder) close(bracket byte) {
	e.depth--
	if !e.fresh {
		e.line()
	}
	e.buffer = append(e.buffer, bracket)
	e.fresh = false
}

func (e *encoder) line() {
	if e.indent {
		e.buffer = append(e.buffer, '\n')
		for range e.depth {
			e.buffer = append(e.buffer, ' ', ' ')
		}
	}
}

// spare hands on what is written if it is much.
func (e *encoder) spare() {
	if len(e.buffer) >= chunkBytes {
		e.buffer = e.sink(e.buffer)[:0]
	}
}

// key begins a member; it has its quotes and colon.
func (e *encoder) key(key string) {
	e.next()
	e.raw(key)
	if e.indent {
		e.buffer = append(e.buffer, ' ')
	}
}

func (e *encoder) text(s string) { e.buffer = appendText(e.buffer, s) }

func (e *encoder) integer(n int64) { e.buffer = strconv.AppendInt(e.buffer, n, 10) }

// plain are the bytes that stand for themselves in a text.
var plain = func() (out [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		out[c] = !strings.ContainsRune(`"\<>&`, c)
	}
	return out
}()

// appendText quotes a text. Whatever needs escaping is left to encoding/json.
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

func (e *encoder) truth(is bool) {
	if is {
		e.raw("true")
	} else {
		e.raw("false")
	}
}

// time writes nanoseconds since the epoch; the zero time is 0.
func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.integer(0)
		return
	}
	n := t.UnixNano()
	known := &e.times[uint64(n)*0x9e3779b97f4a7c15>>61]
	if known.value != n || known.text == nil {
		known.value, known.text = n, strconv.AppendInt(known.text[:0], n, 10)
	}
	e.buffer = append(e.buffer, known.text...)
}

// amounts writes an object by kind, without zeros.
func (e *encoder) amounts(a resources.Amounts) {
	if e.last.text != nil && !e.indent && slices.Equal(a, e.last.value) {
		e.buffer = append(e.buffer, e.last.text...)
		e.fresh = false
		return
	}
	from := len(e.buffer)
	e.open('{')
	for _, k := range e.kinds {
		if quantity := a.Of(k.number); quantity != 0 {
			e.key(k.key)
			e.integer(quantity)
		}
	}
	e.close('}')
	e.last.value, e.last.text = a, append(e.last.text[:0], e.buffer[from:]...)
}

// limits writes an object by kind, without what is unlimited. A limit of zero is
// there: left out it would be taken for none.
func (e *encoder) limits(l resources.Limits) {
	e.open('{')
	for _, k := range e.kinds {
		if quantity := l.Of(k.number); quantity != resources.Unlimited {
			e.key(k.key)
			e.integer(quantity)
		}
	}
	e.close('}')
}

// texts writes a map of texts.
func (e *encoder) texts(m map[string]string) {
	if m == nil {
		e.raw("null")
		return
	}
	e.open('{')
	for _, k := range e.sorted(m) {
		e.key(k.key)
		e.text(m[k.name])
	}
	e.close('}')
}

// sorted is the keys of a map in order. It is the answer from before if that
// still holds, and valid until the next call.
func (e *encoder) sorted(m map[string]string) []textKey {
	last := &e.keys[len(m)%len(e.keys)]
	if len(m) == len(*last) && !slices.ContainsFunc(*last, func(k textKey) bool { _, ok := m[k.name]; return !ok }) {
		return *last
	}
	*last = (*last)[:0]
	for name := range m {
		*last = append(*last, textKey{name, string(appendText(nil, name)) + ":"})
	}
	slices.SortFunc(*last, func(a, b textKey) int { return strings.Compare(a.name, b.name) })
	return *last
}

// A textKey is a key of a map as it is and as it is written.
type textKey struct{ name, key string }
