package webservice

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A lazyList is made element by element while it is written, so that it is never
// whole in memory.
type lazyList interface {
	length() int
	// element is the type of the elements, a struct.
	element() reflect.Type
	encode(e *encoder)
}

// items is the list of n elements that fill makes.
type items[T any] struct {
	n    int
	fill func(i int, into *T)
}

// each is the list of what fill makes of each of some values. The element that fill
// gets is empty.
func each[S, T any](values []S, fill func(from S, into *T)) *items[T] {
	return &items[T]{n: len(values), fill: func(i int, into *T) { fill(values[i], into) }}
}

// eachByKey is each for values in the order of their keys, which they need not
// have. They are put in order when the list is written.
func eachByKey[S, T any](values []S, key func(S) api.AllocationKey, fill func(from S, into *T)) *items[T] {
	var sorted []S
	return &items[T]{n: len(values), fill: func(i int, into *T) {
		if sorted == nil {
			sorted = byKey(values, key)
		}
		fill(sorted[i], into)
	}}
}

// byKey is values in the order of their keys: themselves if they have it.
func byKey[S any](values []S, key func(S) api.AllocationKey) []S {
	compare := func(a, b S) int { return cmp.Compare(key(a), key(b)) }
	if slices.IsSortedFunc(values, compare) {
		return values
	}
	values = slices.Clone(values)
	slices.SortFunc(values, compare)
	return values
}

func keyOf(a *api.Allocation) api.AllocationKey { return a.Key }

func keyOfAsk(a api.AskView) api.AllocationKey { return a.Key }

// length is zero for no list at all.
func (l *items[T]) length() int {
	if l == nil {
		return 0
	}
	return l.n
}

func (l *items[T]) element() reflect.Type { return reflect.TypeFor[T]() }

func (l *items[T]) encode(e *encoder) {
	var element, empty T
	e.open('[')
	for i := range l.length() {
		element = empty
		l.fill(i, &element)
		e.next()
		e.any(&element)
		e.spare()
	}
	e.close(']')
}

// MarshalJSON is for lists inside of what encoding/json writes; there are none.
func (l *items[T]) MarshalJSON() ([]byte, error) { panic("webservice: a list inside of a plain value") }

// The types of members that encoding/json writes.
type (
	// nanoseconds since the epoch are a time; zero is none.
	nanoseconds int64
	// quantities are amounts or limits by kind.
	quantities map[string]int64
)

func nanosecondsOf(t time.Time) nanoseconds {
	if t.IsZero() {
		return 0
	}
	return nanoseconds(t.UnixNano())
}

// amounts is amounts by kind, without zeros.
func (at *snapshot) amounts(a resources.Amounts) quantities { return at.kinds.Map(a) }

// limits is limits by kind, without what is unlimited.
func (at *snapshot) limits(l resources.Limits) quantities { return at.kinds.LimitMap(l) }

// fieldsOf is the names of the fields of a struct, as they are written.
func fieldsOf(t reflect.Type) []string {
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
