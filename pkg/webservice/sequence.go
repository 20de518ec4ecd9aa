package webservice

import (
	"reflect"
	"unsafe"
)

// A sequence is a list whose elements are made one at a time, while it is
// written.
type sequence interface {
	length() int
	// element is the type of the elements, a struct.
	element() reflect.Type
	// encode writes the list with the fields of a shape; nil is all of them.
	encode(e *encoder, s *shape)
}

// items is the sequence of n elements that fill makes.
type items[T any] struct {
	n    int
	fill func(i int, into *T)
}

// each is the sequence of what fill makes of each of a list. The element that
// fill gets is empty.
func each[S, T any](list []S, fill func(from S, into *T)) *items[T] {
	return &items[T]{n: len(list), fill: func(i int, into *T) { fill(list[i], into) }}
}

func (l *items[T]) length() int { return l.n }

func (l *items[T]) element() reflect.Type { return reflect.TypeFor[T]() }

func (l *items[T]) encode(e *encoder, s *shape) {
	if s == nil {
		s = shapeOf(l.element())
	}
	var element, empty T
	e.open('[')
	for i := range l.n {
		element = empty
		l.fill(i, &element)
		e.next()
		s.encode(e, unsafe.Pointer(&element))
		e.spare()
	}
	e.close(']')
}
