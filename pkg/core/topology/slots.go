package topology

import (
	"encoding/binary"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Slots are how many asks of some amounts and of an importance fit: on each node, in each domain and on all nodes.
// What is kept on a node for asks of this importance and above is not free, and a closed node has no slots.
//
//	in  = for each domain, the sum of onNode of its nodes
//	all = the sum of onNode
//
// A list of the nodes that have changed says what was missed since they were read last, so that a change costs
// nothing by itself, and one look takes as many steps as nodes have changed since the last one.
type Slots struct {
	amounts    resources.Amounts
	importance int32
	onNode     []int64 // by the slots of nodes
	in         []int64 // by the numbers of domains
	all        int64
	seen       uint64 // how many changes are taken into account
	read       uint64 // when they were read last
}

// nodeMax is the most slots that count of one node, so that sums are exact: asks of nothing fit without end.
const nodeMax = 1 << 24

// slotsMax is how many numbers of slots are kept, 8 bytes each. Beyond it those that were not read for longest go, and are
// made anew when they are asked for.
const slotsMax = 1 << 22

// All is how many fit on all nodes together.
func (s *Slots) All() int64 { return s.all }

// In is how many fit in a domain.
func (s *Slots) In(d *Domain) int64 {
	if int(d.number) >= len(s.in) {
		return 0
	}
	return s.in[d.number]
}

// On is how many fit on a node.
func (s *Slots) On(n *ledger.Node) int64 { return s.on(n.Slot) }

func (s *Slots) on(slot int32) int64 {
	if int(slot) >= len(s.onNode) {
		return 0
	}
	return s.onNode[slot]
}

// Slots are those for some amounts and an importance, up to date. They hold until a node changes.
func (t *Topology) Slots(amounts resources.Amounts, importance int32) *Slots {
	key := binary.AppendVarint(make([]byte, 0, 64), int64(importance))
	for _, v := range amounts {
		key = binary.AppendVarint(key, v)
	}
	s := t.slots[string(key)]
	if s == nil {
		t.begin()
		s = &Slots{amounts: amounts.Clone(), importance: importance}
		t.slots[string(key)] = s
		t.makeRoom(s)
		t.recount(s)
	}
	t.reads++
	s.read = t.reads
	t.update(s)
	return s
}

// makeRoom forgets the slots that were not read for longest, if there are too many.
func (t *Topology) makeRoom(but *Slots) {
	for most := max(slotsMax/max(len(t.places), 1), 1); len(t.slots) > most; {
		oldest := ""
		for key, s := range t.slots {
			if s != but && (oldest == "" || s.read < t.slots[oldest].read) {
				oldest = key
			}
		}
		delete(t.slots, oldest)
	}
}

// update takes the changes into account that slots have missed.
func (t *Topology) update(s *Slots) {
	if s.seen < t.dropped {
		t.recount(s)
		return
	}
	for i, slot := range t.changed[s.seen-t.dropped:] {
		if p := t.places[slot]; p != nil && p.changed == s.seen+uint64(i)+1 { // the last change counts
			t.recountOn(s, p)
		}
	}
	s.seen = t.dropped + uint64(len(t.changed))
}

// recount counts on all nodes.
func (t *Topology) recount(s *Slots) {
	clear(s.onNode)
	clear(s.in)
	s.all, s.seen = 0, t.dropped+uint64(len(t.changed))
	for _, p := range t.places {
		if p != nil {
			t.recountOn(s, p)
		}
	}
}

// recountOn counts on one node, and in its domains.
func (t *Topology) recountOn(s *Slots, p *place) {
	var now int64
	if n := p.node; n.Schedulable && s.amounts.FitsIn(n.Free) {
		now = min(s.amounts.TimesIn(n.RoomFor(s.importance)), nodeMax)
	}
	before := tables.At(&s.onNode, p.node.Slot)
	by := now - *before
	if by == 0 {
		return
	}
	*before = now
	s.all += by
	for _, at := range p.seats {
		s.count(at.domain, by)
	}
}

// count counts more in a domain and in those above it.
func (s *Slots) count(d *Domain, by int64) {
	for ; d != nil && by != 0; d = d.Parent {
		*tables.At(&s.in, d.number) += by
	}
}

// forget counts nothing any more on a node that is in no domain.
func (s *Slots) forget(slot int32) {
	s.all -= s.on(slot)
	if int(slot) < len(s.onNode) {
		s.onNode[slot] = 0
	}
}

// note takes in that a node has changed.
func (t *Topology) note(p *place) {
	if len(t.slots) == 0 {
		return
	}
	if most := 2*len(t.places) + 1024; len(t.changed) >= 2*most {
		t.dropped += uint64(len(t.changed) - most)
		t.changed = slices.Delete(t.changed, 0, len(t.changed)-most)
	}
	t.changed = append(t.changed, p.node.Slot)
	p.changed = t.dropped + uint64(len(t.changed))
}
