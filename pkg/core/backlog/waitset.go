package backlog

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
	*Class
	leaf *LeafClass
	edge int8 // below zero before all of them, above zero after them
}

func (w waitingClass) compare(other waitingClass, kinds *resources.Kinds) int {
	return cmp.Or(w.comparePeers(other.Class), cmp.Compare(w.edge, other.edge),
		kinds.Compare(other.Amounts, w.Amounts), cmp.Compare(w.Key, other.Key))
}

// comparePeers orders classes so that those which may share victims are together.
func (c *Class) comparePeers(other *Class) int {
	return cmp.Or(cmp.Compare(c.Priority, other.Priority), cmp.Compare(c.Constraints, other.Constraints))
}

// Alike appends the classes of the priority and constraints of one to an empty list, the largest
// first: all of them, or of more than so many half of that from the first and half from the last.
func (s *waitSet) Alike(like []*LeafClass, c *Class, most int) []*LeafClass {
	if s.classes == nil {
		return like
	}
	first, last := waitingClass{Class: c, edge: -1}, waitingClass{Class: c, edge: 1}
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

// A classOrder sorts classes that wait. It has a name, so that a copy of a partition can have it (Orders).
type classOrder struct{ kinds *resources.Kinds }

func (o classOrder) less(a, b waitingClass) bool { return a.compare(b, o.kinds) < 0 }

// Orders are the functions that sort the trees of a partition, for an exact copy of one: all else in it is data, the functions of its
// options, and those that a new partition has.
func (b *Backlog) Orders() []any { return append(b.Ledger.Orders(), classOrder{b.Kinds}.less) }

// count notes that an ask is added to what waits in the leaf, or taken from it.
func (s *waitSet) count(kinds *resources.Kinds, leaf *LeafClass, by int) {
	leaf.Asks += by
	if !leaf.Class.Preempts {
		return
	}
	if by > 0 {
		s.added++
	} else {
		s.taken++
	}
	switch here := (waitingClass{Class: leaf.Class, leaf: leaf}); {
	case by > 0 && leaf.Asks == by:
		if s.classes == nil {
			s.classes = btree.NewG(16, classOrder{kinds}.less)
		}
		s.classes.ReplaceOrInsert(here)
	case leaf.Asks == 0:
		s.classes.Delete(here)
	}
}
