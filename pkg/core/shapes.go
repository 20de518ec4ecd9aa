package core

import (
	"encoding/binary"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A shape is what asks of equal amounts and priority have in common, also as
// seen from the root, where what is promised is compared. They fit a node or they do not, and they fit a quota or they do not, all together: what
// was learnt from one of them holds for the others until a node or a queue
// changes. For those that hunt room may be made, which those that are nominated
// already, or never want it, do not need.
type shape struct {
	amounts  resources.Amounts
	priority int32
	standing int32 // the priority as seen from the root
	hunts    bool
	slot     uint8
	asks     int      // that wait
	full     bool     // no open node has room
	overIn   []*queue // where the quota has no room for it
	huntsIn  []*queue // leaves that know whether room may be made for it
	vain     int      // in how many of them none can be made
	listed   bool     // among those that hunted in vain
	// reserved is the ask that holds the reservation of this shape, if one does.
	reserved *request
}

// shared reports whether the slot stands for other shapes too, so that only
// the shape itself can tell.
func (s *shape) shared() bool { return s.slot == sharedSlot }

// shapes is the table of shapes. A shape that no ask has stays until slots are
// scarce, so that a steady trickle of equal asks makes no garbage.
//
//	ready has a slot if and only if one of its shapes is not full
//	full lists the shapes that are full
type shapes struct {
	kinds   *resources.Kinds
	known   map[string]*shape // by appendKey
	all     []*shape          // the known ones, oldest first
	idle    int               // how many of them no ask has
	free    []uint8           // slots of no shape
	ready   slots
	hopeful int // shapes of the shared slot that are not full
	full    []*shape
	scratch []byte
	learnt  uint64 // counts changes of what is known of shapes, here and in queues
}

func newShapes(kinds *resources.Kinds) *shapes {
	t := &shapes{kinds: kinds, known: map[string]*shape{}}
	for slot := sharedSlot - 1; slot >= 0; slot-- {
		t.free = append(t.free, uint8(slot))
	}
	return t
}

// of finds or makes the shape of the amounts, which it keeps.
func (t *shapes) of(amounts resources.Amounts, priority, standing int32, hunts bool) *shape {
	for len(amounts) > 0 && amounts[len(amounts)-1] == 0 {
		amounts = amounts[:len(amounts)-1]
	}
	made := shape{amounts: amounts, priority: priority, standing: standing, hunts: hunts}
	t.scratch = made.appendKey(t.scratch[:0])
	if s, ok := t.known[string(t.scratch)]; ok {
		return s
	}
	s := new(shape)
	*s = made
	s.slot = t.takeSlot()
	t.known[string(t.scratch)] = s
	t.all = append(t.all, s)
	t.idle++
	t.hope(s, 1)
	return s
}

// appendKey writes the key by which the shape is known.
func (s *shape) appendKey(key []byte) []byte {
	hunts := byte(0)
	if s.hunts {
		hunts = 1
	}
	key = binary.LittleEndian.AppendUint32(append(key, hunts), uint32(s.priority))
	key = binary.LittleEndian.AppendUint32(key, uint32(s.standing))
	for _, v := range s.amounts {
		key = binary.LittleEndian.AppendUint64(key, uint64(v))
	}
	return key
}

// takeSlot prefers a slot of its own to the shared one.
func (t *shapes) takeSlot() uint8 {
	if len(t.free) == 0 && t.idle > slotsMax/8 && t.idle > len(t.all)/4 {
		t.forgetIdle()
	}
	if len(t.free) == 0 {
		return sharedSlot
	}
	slot := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	return slot
}

func (t *shapes) forgetIdle() {
	kept := t.all[:0]
	var key []byte
	for _, s := range t.all {
		if s.asks > 0 {
			kept = append(kept, s)
			continue
		}
		t.unblock(s)
		t.hope(s, -1)
		if !s.shared() {
			t.free = append(t.free, s.slot)
		}
		key = s.appendKey(key[:0])
		delete(t.known, string(key))
	}
	clear(t.all[len(kept):])
	t.all, t.idle = kept, 0
}

// join and leave count the asks of a shape. What was learnt of one that has none
// is forgotten.
func (t *shapes) join(s *shape) {
	if s.asks == 0 {
		t.idle--
	}
	s.asks++
}

func (t *shapes) leave(s *shape) {
	s.asks--
	if s.asks > 0 {
		return
	}
	t.idle++
	for _, q := range s.overIn {
		q.forgive(s) // the slot may be another's before the queue has room
	}
	s.overIn = nil
	for _, q := range s.huntsIn {
		q.forgetHunt(s)
	}
	s.huntsIn, s.vain = nil, 0
}

// hope counts a shape among those that may fit some node, or takes it out.
func (t *shapes) hope(s *shape, by int) {
	if s.shared() {
		t.hopeful += by
		by = t.hopeful
	}
	if by > 0 {
		t.ready.set(s.slot)
	} else {
		t.ready.clear(s.slot)
	}
}

// block remembers that no open node has room for a shape.
func (t *shapes) block(s *shape) {
	if s.full {
		return
	}
	t.learnt++
	s.full = true
	t.full = append(t.full, s)
	t.hope(s, -1)
}

// unblock lets the asks of a shape be tried again. It is linear in the number
// of shapes that are full; offer is the way for many.
func (t *shapes) unblock(s *shape) {
	if !s.full {
		return
	}
	for i, f := range t.full {
		if f == s {
			t.dropFull(i)
			return
		}
	}
}

// offer lets the shapes be tried again that fit into the room of a node.
func (t *shapes) offer(n *node) {
	for i := len(t.full) - 1; i >= 0; i-- {
		if s := t.full[i]; s.asks == 0 || n.openTo(s.standing) && n.hasRoom(s.amounts, s.standing) {
			t.dropFull(i)
		}
	}
}

func (t *shapes) dropFull(i int) {
	t.learnt++
	s := t.full[i]
	last := len(t.full) - 1
	t.full[i], t.full[last] = t.full[last], nil
	t.full = t.full[:last]
	s.full = false
	t.hope(s, 1)
}
