// Package nodeset has a set of nodes of which something was learnt that holds until they change.
package nodeset

import (
	"maps"
	"slices"
)

// A Set is a set of nodes. What counts as a change of a node, the caller says: its count goes up with
// each, and each node remembers its count. A node takes a bit, or none where all are in the set; one
// that changed after the set was begun takes an entry of a map. Nodes are known by their slot, a
// small number. The zero value is empty, begun before anything changed.
type Set struct {
	since uint64           // the count when the set was begun
	all   bool             // those which did not change after that are all in the set
	bits  []uint64         // by slot
	late  map[int32]uint64 // by slot: the count when a node was added that changed after since

	shared bool // others have it: it is copied before it changes
}

// New is an empty set that is begun at a count.
func New(since uint64) Set { return Set{since: since} }

// All is the set of all nodes that do not change after a count.
func All(since uint64) Set { return Set{since: since, all: true} }

// Has reports whether a node was added and has not changed since. It changed last at
// a count.
func (s *Set) Has(slot int32, changed uint64) bool {
	if changed > s.since {
		at, added := s.late[slot]
		return added && changed <= at
	}
	word := int(slot / 64)
	return s.all || word < len(s.bits) && s.bits[word]&(1<<(slot%64)) != 0
}

// Add adds a node that changed last at a count; now is the count as it is.
func (s *Set) Add(slot int32, changed, now uint64) {
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

// IsAll reports whether the set was made with All.
func (s *Set) IsAll() bool { return s.all }

// IsEmpty reports whether nothing was ever added.
func (s *Set) IsEmpty() bool { return s.bits == nil && s.late == nil }

func (s *Set) clone() Set {
	return Set{since: s.since, all: s.all, bits: slices.Clone(s.bits), late: maps.Clone(s.late)}
}

// Share is the set as it is now. It does not change with the set, which is copied when it does.
func (s *Set) Share() Set {
	s.shared = true
	return *s
}
