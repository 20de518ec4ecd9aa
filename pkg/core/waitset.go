package core

import (
	"cmp"

	"github.com/google/btree"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A waitSet is what waits in a leaf and may preempt: the classes by priority, constraints
// and amounts, the largest first, and how many asks were added and taken.
type waitSet struct {
	classes      *btree.BTreeG[waitingClass] // nil until there was any
	added, taken uint64
}

// A waitingClass is a place in the order of classes: that of a class with its leaf, or the one
// before or after all classes of its priority and constraints.
type waitingClass struct {
	*class
	leaf *leafClass
	edge int8 // below zero before all of them, above zero after them
}

func (w waitingClass) compare(other waitingClass, kinds *resources.Kinds) int {
	return cmp.Or(w.comparePeers(other.class), cmp.Compare(w.edge, other.edge),
		kinds.Compare(other.amounts, w.amounts), cmp.Compare(w.key, other.key))
}

// comparePeers orders classes so that those which may share victims are together.
func (c *class) comparePeers(other *class) int {
	return cmp.Or(cmp.Compare(c.priority, other.priority), cmp.Compare(c.constraints, other.constraints))
}

// alike appends the classes of the priority and constraints of one to an empty list, the largest
// first: all of them, or of more than so many half of that from the first and half from the last.
func (s *waitSet) alike(like []*leafClass, c *class, most int) []*leafClass {
	if s.classes == nil {
		return like
	}
	first, last := waitingClass{class: c, edge: -1}, waitingClass{class: c, edge: 1}
	more := false
	s.classes.AscendRange(first, last, func(w waitingClass) bool {
		if more = len(like) == most; !more {
			like = append(like, w.leaf)
		}
		return !more
	})
	if more {
		at := most
		s.classes.DescendRange(last, first, func(w waitingClass) bool {
			at--
			like[at] = w.leaf
			return at > most/2
		})
	}
	return like
}

// count notes that an ask is added to what waits in the leaf, or taken from it.
func (s *waitSet) count(kinds *resources.Kinds, leaf *leafClass, by int) {
	leaf.asks += by
	if !leaf.class.preempts {
		return
	}
	if by > 0 {
		s.added++
	} else {
		s.taken++
	}
	switch here := (waitingClass{class: leaf.class, leaf: leaf}); {
	case by > 0 && leaf.asks == by:
		if s.classes == nil {
			s.classes = btree.NewG(16, func(a, b waitingClass) bool { return a.compare(b, kinds) < 0 })
		}
		s.classes.ReplaceOrInsert(here)
	case leaf.asks == 0:
		s.classes.Delete(here)
	}
}
