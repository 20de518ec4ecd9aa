package core

import (
	"maps"
	"slices"
)

// A nodeSet is a set of nodes of which something was learnt that holds until they
// change. What counts as a change, the caller says: its count goes up with each, and
// each node remembers its count. A node takes a bit, or none where all are in the set; one
// that changed after the set was begun takes an entry of a map.
type nodeSet struct {
	since uint64           // the count when the set was begun
	all   bool             // those which did not change after that are all in the set
	bits  []uint64         // by node.slot
	late  map[int32]uint64 // by node.slot: the count when a node was added that changed after since

	shared bool // views have it: it is copied before it changes
}

// has reports whether a node was added and has not changed since. It changed last at
// a count.
func (s *nodeSet) has(slot int32, changed uint64) bool {
	if changed > s.since {
		at, added := s.late[slot]
		return added && changed <= at
	}
	word := int(slot / 64)
	return s.all || word < len(s.bits) && s.bits[word]&(1<<(slot%64)) != 0
}

// add adds a node that changed last at a count; now is the count as it is.
func (s *nodeSet) add(slot int32, changed, now uint64) {
	if s.shared {
		*s = s.clone()
	}
	if changed > s.since {
		if s.late == nil {
			s.late = map[int32]uint64{}
		}
		s.late[slot] = now
		return
	}
	if s.all {
		return
	}
	for int(slot) >= 64*len(s.bits) {
		s.bits = append(s.bits, 0)
	}
	s.bits[slot/64] |= 1 << (slot % 64)
}

// isEmpty reports whether nothing was ever added.
func (s *nodeSet) isEmpty() bool { return s.bits == nil && s.late == nil }

func (s *nodeSet) clone() nodeSet {
	return nodeSet{since: s.since, all: s.all, bits: slices.Clone(s.bits), late: maps.Clone(s.late)}
}

// view is the set as it is now, which is not changed any more.
func (s *nodeSet) view() nodeSet {
	s.shared = true
	return *s
}
