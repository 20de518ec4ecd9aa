package encoder

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

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
