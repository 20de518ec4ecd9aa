package core

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// A verifier keeps the first law that it finds broken.
type verifier struct {
	p           *Partition
	all         []*ledger.Node // by ID
	settled     bool           // nothing has changed to which nothing has reacted
	broken      error
	renominated int // asks that are to be nominated again
}

// fewItems is how many items of a list are looked through faster than a set of them is made.
const fewItems = 16

// A membership is what is in a list. It keeps Verify linear where lists are long.
type membership[T comparable] struct {
	list  []T
	set   map[T]bool // of a long list
	twice bool       // something is listed twice
}

func membersOf[T comparable](list []T) membership[T] {
	m := membership[T]{list: list}
	if len(list) <= fewItems {
		for i, item := range list {
			m.twice = m.twice || slices.Contains(list[:i], item)
		}
		return m
	}
	m.set = make(map[T]bool, len(list))
	for _, item := range list {
		m.set[item] = true
	}
	m.twice = len(m.set) < len(list)
	return m
}

func (m *membership[T]) has(item T) bool {
	if m.set == nil {
		return slices.Contains(m.list, item)
	}
	return m.set[item]
}

func (v *verifier) breaks(format string, args ...any) {
	if v.broken == nil {
		v.broken = fmt.Errorf("partition %s: "+format, append([]any{v.p.Name}, args...)...)
	}
}
