package core

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/nodeset"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A class is what asks have in common that fit the same nodes and the same quotas:
// what was learnt of one of them holds for all until a node or a queue changes.
// (Kubernetes and Borg call it an equivalence class.) Its asks stand in groups, one
// for each application, and in one leafClass for each leaf queue.
//
//	asks   = the asks that wait with the class, in groups or elsewhere
//	parked = no open node has room for it, but for nodes with new room
type class struct {
	classTraits
	key string

	asks   int
	idle   bool // among the classes that may have no asks
	groups []*askGroup
	leaves []*leafClass

	parked  bool
	checked uint64 // the rooms.epoch in which new room was too little for it
	links   order.Links[*class]
	below   *resources.Amounts // the least of the subtree of the parked classes

	// What the resource manager said of nodes, and what preemption attempts know; nil is
	// nothing. Classes of asks that are nominated or back off share both.
	refused     *refusals
	simulations *simulations

	// An unschedulable class was refused on all nodes with room, and stands in no order but where room
	// may be made for it. While its questions are to go on it has a paused ask, its first, and stands
	// in none at all.
	unschedulable bool
	paused        *ledger.Request
	inRefused     bool // in refused.list

	refusedKept nodeset.Set // that the resource manager refuses even if all that runs there ends
	since       time.Time   // when it first fitted no node, or one of its asks was placed last
	slots       classSlots

	tiedIn uint64 // the batch that last placed what it has ties to
	alone  int    // how often one of its asks was refused beside another, one after the other
	listed bool   // among the classes to be tried again when a node changes
	paced  bool   // not among them, since the resource manager refused it: tried again in turn
}

// classTraits are what the asks of a class have in common.
type classTraits struct {
	amounts     resources.Amounts // shared by all its asks
	priority    int32
	importance  int32 // the priority as the root sees it
	preempts    bool  // room may be made for its asks; not for those that are nominated or back off
	nominated   bool  // its asks are nominated
	whole       bool  // they start with their group: what fits one of them says nothing of others
	constraints string
}

// Before orders parked classes, for a search by amounts: the order is as good as
// any that does not depend on history.
func (c *class) Before(other *class) bool { return c.key < other.key }

// Links are the place among the parked classes.
func (c *class) Links() *order.Links[*class] { return &c.links }

// Summarise works out the least of a subtree of the parked classes.
func (c *class) Summarise() bool {
	var left, right *resources.Amounts
	if c.links.Left != nil {
		left = c.links.Left.below
	}
	if c.links.Right != nil {
		right = c.links.Right.below
	}
	before := c.below
	c.below = leastOf(before, &c.amounts, left, right)
	return c.below != before
}

// appendKey writes the key by which the class is known.
func (c *classTraits) appendKey(key []byte) []byte {
	flags := byte(0)
	if c.preempts {
		flags |= 1
	}
	if c.nominated {
		flags |= 2
	}
	if c.whole {
		flags |= 8
	}
	key = binary.BigEndian.AppendUint32(append(key, flags), uint32(c.priority))
	key = binary.BigEndian.AppendUint32(key, uint32(c.importance))
	key = binary.BigEndian.AppendUint32(key, uint32(len(c.amounts)))
	for _, v := range c.amounts {
		key = binary.BigEndian.AppendUint64(key, uint64(v))
	}
	return append(key, c.constraints...)
}

// refusedOn reports whether the resource manager refused a class on a node, or on all with room, and
// the node has not been freed since.
func (c *class) refusedOn(n *ledger.Node) bool {
	return c.refused != nil && c.refused.asked.Has(n.Slot, n.FreedAt)
}

// asLike reports whether what preemption attempts know of two classes is the same.
func (c *class) asLike(other *class) bool {
	return c.constraints == other.constraints && c.priority == other.priority && c.importance == other.importance &&
		c.amounts.Equal(other.amounts)
}

// A classTable knows the classes. A class without asks is remembered for a while, so
// that equal asks which come one after the other make no garbage.
type classTable struct {
	known   map[string]*class
	alike   map[string][]*class // by constraints, where there are any
	roots   tables.Counts       // of their importances
	idle    []*class            // those that may have no asks
	scratch []byte
}

// ownClass is what the constraints of an ask begin with that is like no other.
const ownClass = "="

// idleMax is how many classes without asks are remembered, besides as many as have
// asks.
const idleMax = 64

// of finds or makes the class with some traits, and keeps their amounts.
func (t *classTable) of(traits classTraits) *class {
	for len(traits.amounts) > 0 && traits.amounts[len(traits.amounts)-1] == 0 {
		traits.amounts = traits.amounts[:len(traits.amounts)-1]
	}
	t.scratch = traits.appendKey(t.scratch[:0])
	if c, ok := t.known[string(t.scratch)]; ok {
		return c
	}
	c := &class{classTraits: traits, key: string(t.scratch)}
	t.known[c.key] = c
	t.index(c)
	t.roots.Add(c.importance)
	t.list(c)
	return c
}

// index lists a class among those of its constraints, unindex does not any more.
func (t *classTable) index(c *class) {
	if c.constraints == "" {
		return
	}
	if t.alike == nil {
		t.alike = map[string][]*class{}
	}
	t.alike[c.constraints] = append(t.alike[c.constraints], c)
}

func (t *classTable) unindex(c *class) {
	list := t.alike[c.constraints]
	at := slices.Index(list, c)
	if at < 0 {
		return
	}
	if len(list) == 1 {
		delete(t.alike, c.constraints)
		return
	}
	t.alike[c.constraints] = slices.Delete(list, at, at+1)
}

// list remembers a class that may have no asks.
func (t *classTable) list(c *class) {
	if !c.idle {
		c.idle = true
		t.idle = append(t.idle, c)
	}
}

// release notes that a class has no ask any more. What was learnt of it is
// forgotten.
func (t *classTable) release(c *class) {
	c.refused, c.simulations, c.alone, c.paced, c.refusedKept = nil, nil, 0, false, nodeset.Set{}
	c.unschedulable, c.paused = false, nil
	t.list(c)
	if len(t.idle) <= idleMax+len(t.known)/2 {
		return
	}
	for _, c := range t.idle {
		c.idle = false
		if c.asks == 0 {
			delete(t.known, c.key)
			t.unindex(c)
			t.roots.Remove(c.importance)
		}
	}
	clear(t.idle)
	t.idle = t.idle[:0]
}

// classSlots are what slots know of a class.
type classSlots struct {
	listed bool
	waits  bool         // for an ask without a claim, or for the resource manager
	held   int          // claims of its asks
	round  int          // the round in which it had its turn last
	tried  []api.NodeID // where its claims lasted for ReserveMax, one for each
	places int          // how many of its asks the nodes hold when all has left that may leave; at most placesMax
	at     uint64       // the count of changes of what nodes hold when that was counted; zero is never
	// impossible says that no node can hold any of its asks, and why.
	impossible string
}

// placesMax is how many places of a class are counted: what has more waits for none for long.
const placesMax = 1 << 10

// isListed reports whether it matters for a class which nodes change.
func (c *class) isListed() bool {
	fails := func(leaf *leafClass) bool { return !leaf.active }
	return !c.paced && (c.simulations != nil && c.simulations.exhausted || slices.ContainsFunc(c.leaves, fails))
}

// unclaimed is the first ask of a class in order for which nothing is kept, and that may run alone, of
// those for which a condition holds: of each application the first is looked at.
func (c *class) unclaimed(holds func(*ledger.Request) bool) (first *ledger.Request) {
	for _, g := range c.groups {
		for r := range g.all {
			if r.Claim() == nil && !r.StartsTogether() {
				if (holds == nil || holds(r)) && (first == nil || ledger.InOrder(r, first) < 0) {
					first = r
				}
				break
			}
		}
	}
	return first
}
