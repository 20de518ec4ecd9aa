package encoder

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A List is made element by element while it is written, so that it is never
// whole in memory.
type List interface {
	// Length is how many elements there are; zero for no list at all.
	Length() int
	// Element is the type of the elements, a struct.
	Element() reflect.Type
	Encode(e *Encoder)
}

// Items is the list of n elements that fill makes.
type Items[T any] struct {
	n    int
	fill func(i int, into *T)
}

// Each is the list of what fill makes of each of some values. The element that fill
// gets is empty.
func Each[S, T any](values []S, fill func(from S, into *T)) *Items[T] {
	return &Items[T]{n: len(values), fill: func(i int, into *T) { fill(values[i], into) }}
}

// EachByKey is Each for values in the order of their keys, which they need not
// have. They are put in order when the list is written.
func EachByKey[S, T any, K cmp.Ordered](values []S, key func(S) K, fill func(from S, into *T)) *Items[T] {
	var sorted []S
	return &Items[T]{n: len(values), fill: func(i int, into *T) {
		if sorted == nil {
			sorted = byKey(values, key)
		}
		fill(sorted[i], into)
	}}
}

// byKey is values in the order of their keys: themselves if they have it.
func byKey[S any, K cmp.Ordered](values []S, key func(S) K) []S {
	compare := func(a, b S) int { return cmp.Compare(key(a), key(b)) }
	if slices.IsSortedFunc(values, compare) {
		return values
	}
	values = slices.Clone(values)
	slices.SortFunc(values, compare)
	return values
}

// Length is zero for no list at all.
func (l *Items[T]) Length() int {
	if l == nil {
		return 0
	}
	return l.n
}

// Element is T.
func (l *Items[T]) Element() reflect.Type { return reflect.TypeFor[T]() }

// Encode writes the list, and makes one element after the other for that.
func (l *Items[T]) Encode(e *Encoder) {
	var element, empty T
	e.Open('[')
	for i := range l.Length() {
		element = empty
		l.fill(i, &element)
		e.Next()
		e.Any(&element)
		e.Spare()
	}
	e.Close(']')
}

// MarshalJSON is for lists inside of what encoding/json writes; there are none.
func (l *Items[T]) MarshalJSON() ([]byte, error) { panic("webservice: a list inside of a plain value") }

// The types of members that encoding/json writes.
type (
	// Nanoseconds since the epoch are a time; zero is none.
	Nanoseconds int64
	// Quantities are amounts or limits by kind.
	Quantities map[string]int64
)

// NanosecondsOf is a time since the epoch; the zero time is 0.
func NanosecondsOf(t time.Time) Nanoseconds {
	if t.IsZero() {
		return 0
	}
	return Nanoseconds(t.UnixNano())
}

// FieldsOf is the names of the fields of a struct, as they are written.
func FieldsOf(t reflect.Type) []string {
	var out []string
	for field := range t.Fields() {
		if !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		out = append(out, name)
	}
	return out
}
