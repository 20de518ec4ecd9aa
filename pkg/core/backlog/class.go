package backlog

import (
	"encoding/binary"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Class is what asks have in common that fit the same nodes and the same quotas:
// what was learnt of one of them holds for all until a node or a queue changes.
// (Kubernetes and Borg call it an equivalence class.) Its asks stand in groups, one
// for each application, and in one LeafClass for each leaf queue.
//
//	Asks   = the asks that wait with the class, in groups or elsewhere
//	Parked = no open node has room for it, but for nodes with new room
type Class struct {
	ClassTraits
	Key string

	Asks   int
	idle   bool // among the classes that may have no asks
	Groups []*AskGroup
	Leaves []*LeafClass

	Parked  bool
	checked uint64 // the rooms.epoch in which new room was too little for it
	links   order.Links[*Class]
	below   *resources.Amounts // the least of the subtree of the parked classes

	// What the resource manager said of nodes, and what preemption attempts know; nil is
	// nothing. Classes of asks that are nominated or back off share both.
	Refused     *answers.Refusals
	Simulations *answers.Simulations

	// An unschedulable class was refused on all nodes with room, and stands in no order but where room
	// may be made for it. While its questions are to go on it has a paused ask, its first, and stands
	// in none at all.
	Unschedulable bool
	Paused        *ledger.Request

	Slot       int32  // a number that no other class has
	life       uint64 // counts how often its last ask went
	Claims     int    // of its asks, that take slots
	awaitsAsk  bool   // slots are looked at when another ask stands in an order
	Impossible string // why no node can hold any of its asks; empty if one can, or that is not known
}

// BeginRefusals are the refusals of a class, begun if there are none: so many nodes were freed until now.
func (c *Class) BeginRefusals(freed uint64) *answers.Refusals {
	if c.Refused == nil {
		c.Refused = answers.NewRefusals(freed)
	}
	return c.Refused
}

// Living is a class from its first ask to its last: what is known of one holds no longer.
type Living struct {
	*Class
	life uint64
}

// Living is the class as long as it has asks.
func (c *Class) Living() Living { return Living{c, c.life} }

// KnowAnswers keeps what preemption attempts know.
func (c *Class) KnowAnswers(s *answers.Simulations) { c.Simulations = s }

// ClassTraits are what the asks of a class have in common.
type ClassTraits struct {
	Amounts     resources.Amounts // shared by all its asks
	Priority    int32
	Importance  int32 // the priority as the root sees it
	Preempts    bool  // room may be made for its asks; not for those that are nominated or back off
	Nominated   bool  // its asks are nominated
	whole       bool  // they start with their group: what fits one of them says nothing of others
	Constraints string
}

// Before orders parked classes, for a search by amounts: the order is as good as
// any that does not depend on history.
func (c *Class) Before(other *Class) bool { return c.Key < other.Key }

// Links are the place among the parked classes.
func (c *Class) Links() *order.Links[*Class] { return &c.links }

// Summarise works out the least of a subtree of the parked classes.
func (c *Class) Summarise() bool {
	var left, right *resources.Amounts
	if c.links.Left != nil {
		left = c.links.Left.below
	}
	if c.links.Right != nil {
		right = c.links.Right.below
	}
	before := c.below
	c.below = leastOf(before, &c.Amounts, left, right)
	return c.below != before
}

// appendKey writes the key by which the class is known.
func (c *ClassTraits) appendKey(key []byte) []byte {
	flags := byte(0)
	if c.Preempts {
		flags |= 1
	}
	if c.Nominated {
		flags |= 2
	}
	if c.whole {
		flags |= 8
	}
	key = binary.BigEndian.AppendUint32(append(key, flags), uint32(c.Priority))
	key = binary.BigEndian.AppendUint32(key, uint32(c.Importance))
	key = binary.BigEndian.AppendUint32(key, uint32(len(c.Amounts)))
	for _, v := range c.Amounts {
		key = binary.BigEndian.AppendUint64(key, uint64(v))
	}
	return append(key, c.Constraints...)
}

// FitsNowhere reports whether no open node has room for a class, or the resource manager has refused it on
// all that have.
func (c *Class) FitsNowhere() bool { return c.Parked || c.Unschedulable && c.Paused == nil }

// asLike reports whether what preemption attempts know of two classes is the same.
func (c *Class) asLike(other *Class) bool {
	return c.Constraints == other.Constraints && c.Priority == other.Priority && c.Importance == other.Importance &&
		c.Amounts.Equal(other.Amounts)
}

// A classTable knows the classes. A class without asks is remembered for a while, so
// that equal asks which come one after the other make no garbage.
type classTable struct {
	Known   map[string]*Class
	Alike   map[string][]*Class // by constraints, where there are any
	roots   tables.Counts       // of their importances
	idle    []*Class            // those that may have no asks
	slots   tables.Numbers
	scratch []byte
}

// OwnClass is what the constraints of an ask begin with that is like no other.
const OwnClass = "="

// IdleMax is how many classes without asks are remembered, besides as many as have
// asks.
const IdleMax = 64

// Of finds or makes the class with some traits, and keeps their amounts.
func (t *classTable) Of(traits ClassTraits) *Class {
	for len(traits.Amounts) > 0 && traits.Amounts[len(traits.Amounts)-1] == 0 {
		traits.Amounts = traits.Amounts[:len(traits.Amounts)-1]
	}
	t.scratch = traits.appendKey(t.scratch[:0])
	if c, ok := t.Known[string(t.scratch)]; ok {
		return c
	}
	c := &Class{ClassTraits: traits, Key: string(t.scratch), Slot: t.slots.Take()}
	t.Known[c.Key] = c
	t.index(c)
	t.roots.Add(c.Importance)
	t.list(c)
	return c
}

// index lists a class among those of its constraints, unindex does not any more.
func (t *classTable) index(c *Class) {
	if c.Constraints == "" {
		return
	}
	if t.Alike == nil {
		t.Alike = map[string][]*Class{}
	}
	t.Alike[c.Constraints] = append(t.Alike[c.Constraints], c)
}

func (t *classTable) unindex(c *Class) {
	list := t.Alike[c.Constraints]
	at := slices.Index(list, c)
	if at < 0 {
		return
	}
	if len(list) == 1 {
		delete(t.Alike, c.Constraints)
		return
	}
	t.Alike[c.Constraints] = slices.Delete(list, at, at+1)
}

// list remembers a class that may have no asks.
func (t *classTable) list(c *Class) {
	if !c.idle {
		c.idle = true
		t.idle = append(t.idle, c)
	}
}

// release notes that a class has no ask any more. What was learnt of it is
// forgotten.
func (t *classTable) release(c *Class) {
	c.Refused, c.Simulations, c.Unschedulable, c.Paused = nil, nil, false, nil
	c.life++
	t.list(c)
	if len(t.idle) <= IdleMax+len(t.Known)/2 {
		return
	}
	for _, c := range t.idle {
		c.idle = false
		if c.Asks == 0 {
			delete(t.Known, c.Key)
			t.unindex(c)
			t.roots.Remove(c.Importance)
			t.slots.GiveBack(c.Slot)
		}
	}
	clear(t.idle)
	t.idle = t.idle[:0]
}

// Unclaimed is the first ask of a class in order for which nothing is kept, and that may run alone, of
// those for which a condition holds: of each application the first is looked at.
func (c *Class) Unclaimed(holds func(*ledger.Request) bool) (first *ledger.Request) {
	for _, g := range c.Groups {
		for r := range g.All {
			if r.Claim() == nil && !r.StartsTogether() {
				if (holds == nil || holds(r)) && (first == nil || r.InOrder(first) < 0) {
					first = r
				}
				break
			}
		}
	}
	return first
}
