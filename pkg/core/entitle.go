package core

import (
	"math"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A relation is how a leaf queue stands to the queue of an ask that wants
// room: whether and as what its allocations may be taken.
type relation struct {
	outside   bool // of the queues that the ask may take from
	same      bool
	protected bool
	fixed     bool  // all priorities in it look like this one
	shift     int64 // added to a priority, or that priority itself
	floors    []int32
	common    *queue // the lowest queue that both are in; nil without an ask
}

// relation is how a leaf stands to the ground's queue, with the floors between.
func (g *ground) relation(leaf *queue) *relation {
	if rel := g.relations[leaf]; rel != nil {
		return rel
	}
	rel := g.relate(leaf)
	for q := leaf; q != rel.common; q = q.parent {
		if !q.guaranteed.IsZero() {
			rel.floors = append(rel.floors, g.floorOf(q))
		}
	}
	g.relations[leaf] = &rel
	return &rel
}

// relate works out how a leaf stands to the queue of a hunter. The priority of a
// victim is compared with that of the ask where their ways to the root meet,
// each as seen from there.
func (h *hunter) relate(leaf *queue) relation {
	rel := relation{
		outside: !leaf.within(h.root), same: leaf == h.leaf,
		protected: leaf.properties.PreemptionPolicy == PreemptionDisabled,
	}
	if h.leaf != nil {
		rel.common = commonQueue(h.leaf, leaf)
	}
	if !rel.same && h.leaf != nil {
		own, fixed := seenAt(h.leaf, rel.common)
		if fixed {
			own -= int64(h.shape.priority)
		}
		// The ask is seen as its priority plus own; the difference is what counts.
		rel.shift, rel.fixed = seenAt(leaf, rel.common)
		rel.shift -= own
	}
	return rel
}

// seenAt is what is added to a priority on the way from a leaf to a queue above,
// or, if it is fixed, what it becomes whatever it was.
func seenAt(q, above *queue) (value int64, fixed bool) {
	for ; q != above; q = q.parent {
		if q.properties.PriorityFence {
			value, fixed = 0, true
		}
		value += int64(q.properties.PriorityOffset)
	}
	return value, fixed
}

// asSeen is the priority of an allocation as the queue of the ask sees it.
func (rel *relation) asSeen(priority int32) int32 {
	seen := rel.shift
	if !rel.fixed {
		seen += int64(priority)
	}
	return int32(min(max(seen, math.MinInt32), math.MaxInt32))
}

// within reports whether a queue is another or below it.
func (q *queue) within(other *queue) bool {
	for ; q != nil; q = q.parent {
		if q == other {
			return true
		}
	}
	return false
}

// commonQueue is the lowest queue that two queues are in.
func commonQueue(a, b *queue) *queue {
	for !b.within(a) {
		a = a.parent
	}
	return a
}

// floorOf is the number of the floor of a queue with a guarantee.
func (g *ground) floorOf(q *queue) int32 {
	if number, known := g.floorNumbers[q]; known {
		return number
	}
	if g.floorNumbers == nil {
		g.floorNumbers = map[*queue]int32{}
	}
	g.floorNumbers[q] = int32(len(g.guarded))
	g.guarded = append(g.guarded, q)
	g.floors = append(g.floors, preemptor.Floor{Queue: string(q.path), Surplus: q.surplus()})
	g.needs = append(g.needs, nil)
	return int32(len(g.guarded) - 1)
}

// surplus is how much the allocations below a queue may lose before it falls
// below what is guaranteed to it, those not counted that leave already.
func (q *queue) surplus() resources.Limits {
	surplus := make(resources.Limits, len(q.guaranteed))
	for i, guaranteed := range q.guaranteed {
		kind := resources.Kind(i)
		surplus[i] = resources.Unlimited
		if guaranteed > 0 {
			surplus[i] = max(q.used.Of(kind)-q.leaving.Of(kind)-guaranteed, 0)
		}
	}
	return surplus
}

// due reports whether some kinds of what is asked for are due to an ask in a
// leaf: each is guaranteed to a queue between the leaf and a common queue, and
// none of these queues gets more than is guaranteed to it of anything asked for,
// counting the ask and those that room is made for already.
func due(leaf, common *queue, ask, kinds resources.Amounts) bool {
	guaranteed := false
	for i, asked := range ask {
		kind := resources.Kind(i)
		here := false
		for q := leaf; asked > 0 && q != common; q = q.parent {
			most := q.guaranteed.Of(kind)
			if most > 0 && q.used.Of(kind)+q.promised.Of(kind)+asked > most {
				return false
			}
			here = here || most > 0
		}
		if kinds.Of(kind) > 0 && !here {
			return false
		}
		guaranteed = guaranteed || here
	}
	return guaranteed
}

// dueChanged works out anew which queues of the asks of a ground have less than
// is guaranteed to them, and reports whether that is other than it was.
func (g *ground) dueChanged() bool {
	i, changed := 0, false
	for q := g.leaf; q != nil; q = q.parent {
		for k, asked := range g.shape.amounts {
			kind := resources.Kind(k)
			most := q.guaranteed.Of(kind)
			is := most > 0 && q.used.Of(kind)+q.promised.Of(kind)+asked <= most
			if i == len(g.dues) {
				g.dues = append(g.dues, !is)
			}
			changed = changed || g.dues[i] != is
			g.dues[i] = is
			i++
		}
	}
	return changed
}

// isDue reports whether anything is due to an ask that it could take from others.
func (r *request) isDue() bool {
	leaf := r.application.queue
	for common := leaf.parent; common != nil; common = common.parent {
		if due(leaf, common, r.Amounts, nil) {
			return true
		}
	}
	return false
}

// quotaToFree is what the queues of an ask lack of quota once all have gone who
// are going; nil if nothing. Victims are then looked for in the lowest queue
// without room only, so what one of them frees all of them gain.
func (r *request) quotaToFree() resources.Amounts {
	var lack resources.Amounts
	for q := r.application.queue; q != nil; q = q.parent {
		for i, asked := range r.Amounts {
			kind := resources.Kind(i)
			if most := q.max.Of(kind); asked > 0 && most != resources.Unlimited {
				wanted := q.used.Of(kind) - q.leaving.Of(kind) + q.promised.Of(kind)
				if r.nominated() == nil {
					wanted += asked
				}
				if wanted > most {
					lack.Set(kind, max(lack.Of(kind), wanted-most))
				}
			}
		}
	}
	if lack.IsZero() {
		return nil
	}
	return lack
}

// hasRoomFor reports whether this queue alone has quota for an ask, which may
// have been promised it.
func (q *queue) hasRoomFor(r *request) bool {
	if r.nominated() != nil {
		return q.keepsRoom(r.Amounts)
	}
	return q.hasRoom(r.Amounts)
}
