package preemption

import (
	"math"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Relation says how a leaf queue relates to the queue of an ask that needs room:
// whether its allocations may be victims, and how their priorities look to the ask.
type Relation struct {
	outside   bool // of the queue that victims are in
	same      bool
	protected bool
	fixed     bool  // all priorities in it look like this one
	shift     int64 // added to a priority, or that priority itself
	floors    []int32
	common    *ledger.Queue // the lowest queue that both are in; nil without an ask
}

// relation is how a leaf relates to the queue of the asks, with the floors between.
func (c *NodeCosts) relation(leaf *ledger.Queue) *Relation {
	if rel := c.Relations[leaf]; rel != nil {
		return rel
	}
	rel := c.relate(leaf)
	for q := leaf; q != rel.common; q = q.Parent {
		if !q.Guaranteed.IsZero() {
			rel.floors = append(rel.floors, c.floorOf(q))
		}
	}
	c.Relations[leaf] = &rel
	return &rel
}

// relate works out how a leaf relates to the queue of the asks. The priority of a
// victim is compared with that of the ask where their paths to the root meet,
// each as seen from there.
func (k *Key) relate(leaf *ledger.Queue) Relation {
	rel := Relation{
		outside: !leaf.Within(k.Scope), same: leaf == k.Leaf,
		protected: leaf.Properties.PreemptionPolicy == api.PreemptionDisabled,
	}
	if k.Leaf != nil {
		rel.common = k.Leaf.Common(leaf)
	}
	if !rel.same && k.Leaf != nil {
		own, fixed := seenAt(k.Leaf, rel.common)
		if fixed {
			own -= int64(k.Class.Priority)
		}
		// The ask is seen as its priority plus own; the difference is what counts.
		rel.shift, rel.fixed = seenAt(leaf, rel.common)
		rel.shift -= own
	}
	return rel
}

// seenAt is what is added to a priority on the way from a leaf to a queue above.
// If it is fixed, it is the priority itself there, whatever it was in the leaf.
func seenAt(q, above *ledger.Queue) (value int64, fixed bool) {
	for ; q != above; q = q.Parent {
		if q.Properties.PriorityFence {
			value, fixed = 0, true
		}
		value += int64(q.Properties.PriorityOffset)
	}
	return value, fixed
}

// asSeen is the priority of an allocation as the queue of the ask sees it.
func (rel *Relation) asSeen(priority int32) int32 {
	seen := rel.shift
	if !rel.fixed {
		seen += int64(priority)
	}
	return int32(min(max(seen, math.MinInt32), math.MaxInt32))
}

// floorOf is the number of the floor of a queue with a guarantee.
func (c *NodeCosts) floorOf(q *ledger.Queue) int32 {
	if number, known := c.floorNumbers[q]; known {
		return number
	}
	if c.floorNumbers == nil {
		c.floorNumbers = map[*ledger.Queue]int32{}
	}
	c.floorNumbers[q] = int32(len(c.guarded))
	c.guarded = append(c.guarded, q)
	c.floors = append(c.floors, preemptor.Floor{Queue: string(q.Path), Surplus: q.Surplus()})
	c.needs = append(c.needs, nil)
	return int32(len(c.guarded) - 1)
}

// deficitsChanged works out anew which queues of the asks have less than is guaranteed
// to them, and reports whether that has changed.
func (c *NodeCosts) deficitsChanged() bool {
	i, changed := 0, false
	for q := c.Leaf; q != nil; q = q.Parent {
		for k, asked := range c.Class.Amounts {
			kind := resources.Kind(k)
			most := q.Guaranteed.Of(kind)
			is := most > 0 && resources.Total(q.Used.Of(kind), q.Nominated.Of(kind), asked) <= most
			if i == len(c.deficits) {
				c.deficits = append(c.deficits, !is)
			}
			changed = changed || c.deficits[i] != is
			c.deficits[i] = is
			i++
		}
	}
	return changed
}
