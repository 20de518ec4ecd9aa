// Package laws is what the verifiers of the core share. Each package says whether its own laws hold; nothing
// here is safe for use by several goroutines.
package laws

import (
	"fmt"
	"slices"
)

// A Check keeps the first law that is found broken.
type Check struct {
	Partition string // in the message
	Err       error  // nil while no law is broken
}

// Breaks says what is broken, unless something was before.
func (c *Check) Breaks(format string, args ...any) {
	if c.Err == nil {
		c.Err = fmt.Errorf("partition %s: "+format, append([]any{c.Partition}, args...)...)
	}
}

// fewItems is how many items of a list are looked through faster than a set of them is made.
const fewItems = 16

// Members are what is in a list. They keep a check linear where lists are long.
type Members[T comparable] struct {
	Twice bool // something is listed twice
	list  []T
	set   map[T]bool // of a long list
}

// MembersOf looks through a list once.
func MembersOf[T comparable](list []T) Members[T] {
	m := Members[T]{list: list}
	if len(list) <= fewItems {
		for i, item := range list {
			m.Twice = m.Twice || slices.Contains(list[:i], item)
		}
		return m
	}
	m.set = make(map[T]bool, len(list))
	for _, item := range list {
		m.set[item] = true
	}
	m.Twice = len(m.set) < len(list)
	return m
}

// Has reports whether an item is in the list.
func (m *Members[T]) Has(item T) bool {
	if m.set == nil {
		return slices.Contains(m.list, item)
	}
	return m.set[item]
}
