package core

import "math"

// PriorityNone is the priority of what has no ask waiting.
const PriorityNone = math.MinInt32

// slotsMax is how many shapes of asks can be told apart at a glance. The last
// slot is shared by all shapes beyond.
const (
	slotsMax   = 256
	sharedSlot = slotsMax - 1
)

// slots is a set of slots.
type slots [slotsMax / 64]uint64

// allSlots is the set of all.
var allSlots = slots{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

func (s *slots) set(slot uint8)   { s[slot/64] |= 1 << (slot % 64) }
func (s *slots) clear(slot uint8) { s[slot/64] &^= 1 << (slot % 64) }

func (s *slots) has(slot uint8) bool { return s[slot/64]&(1<<(slot%64)) != 0 }

func (s *slots) add(other *slots) {
	for i := range s {
		s[i] |= other[i]
	}
}

// keep drops the slots that are not in another set.
func (s *slots) keep(other *slots) {
	for i := range s {
		s[i] &= other[i]
	}
}

func (s *slots) drop(other *slots) {
	for i := range s {
		s[i] &^= other[i]
	}
}

func (s *slots) meets(other *slots) bool {
	var both uint64
	for i := range s {
		both |= s[i] & other[i]
	}
	return both != 0
}

// A backlog says what waits somewhere below: asks of which shapes, the highest
// of their priorities, and whether room may be made for any of them. The zero
// value is not an empty backlog; emptyBacklog is.
type backlog struct {
	shapes slots
	top    int32
	hunts  bool
}

var emptyBacklog = backlog{top: PriorityNone}

func (b *backlog) add(other *backlog) {
	b.shapes.add(&other.shapes)
	b.top = max(b.top, other.top)
	b.hunts = b.hunts || other.hunts
}

// become sets the backlog of a subtree to the sum of an item's own and those of
// the subtrees left and right of it, which may be nil. It reports whether it
// changed.
func (b *backlog) become(own backlog, left, right *backlog) bool {
	if left != nil {
		own.add(left)
	}
	if right != nil {
		own.add(right)
	}
	changed := own != *b
	*b = own
	return changed
}
