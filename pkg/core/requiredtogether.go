package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// Asks of several queues that require one node are planned together with those candidates
// that all of them may take: each sees the others through fences, offsets and guarantees of
// its own.

// severalQueues reports whether asks are of more than one queue, and queues count for them.
func (d *round) severalQueues(asks []*request) bool {
	return !d.costs.flat && slices.ContainsFunc(asks, func(r *request) bool { return r.application.queue != asks[0].application.queue })
}

// narrow leaves only those candidates for asks of several queues that each of them may take,
// and for which the same guarantees count. The candidates are as the last ask sees them, the
// own ones first.
func (d *round) narrow(candidates []preemptor.Candidate, asks []*request) {
	last := d.keyOf(asks[len(asks)-1])
	for _, r := range asks[:len(asks)-1] {
		key := d.keyOf(r)
		if key.leaf == last.leaf {
			continue
		}
		for i := range candidates {
			if i >= len(d.node.own) {
				candidates[i].Outside = candidates[i].Outside || key.scope.parent != nil
				continue
			}
			victim := d.node.own[i]
			rel, common := key.relate(victim.application.queue), commonQueue(last.leaf, victim.application.queue)
			if rel.outside || rel.asSeen(victim.Priority) > r.Priority || isGuardedBetween(rel.common, common) {
				candidates[i].Outside = true
			}
		}
	}
}

// keyOf is how an ask that requires the node sees queues.
func (d *round) keyOf(r *request) preemptionKey {
	return preemptionKey{class: r.class, leaf: r.application.queue, scope: r.application.queue.upTo((*queue).isFenced)}
}

// isGuardedBetween reports whether any queue below the higher of two has a guarantee, up to
// the lower one. One of them is above the other.
func isGuardedBetween(a, b *queue) bool {
	if a.within(b) {
		a, b = b, a
	}
	for ; b != a; b = b.parent {
		if !b.guaranteed.IsZero() {
			return true
		}
	}
	return false
}

// isWorth reports whether the victims of a plan for asks of several queues do no more harm
// than those that were chosen for all but the last ask, and others for that one alone.
func (d *round) isWorth(plan *preemptor.Decision, last *request) bool {
	alone := d.planFor([]*request{last}, nil)
	switch alone.Reason {
	case preemptor.Chosen, preemptor.WaitsForReleasing, preemptor.RoomIsThere:
	default:
		return true // it would not be served
	}
	together, apart := d.harmOf(plan.Victims), d.harmOf(slices.Concat(d.plan.Victims, alone.Victims))
	together[1], apart[1] = plan.Violations+len(plan.Below), d.plan.Violations+len(d.plan.Below)+alone.Violations+len(alone.Below)
	return together[1] <= apart[1] && slices.Compare(together[:], apart[:]) <= 0
}

// harmOf is the worst class of some victims, what they violate, which is not known here, the
// highest priority, and how many there are.
func (d *round) harmOf(victims []preemptor.Victim) (harm [4]int) {
	for i, v := range victims {
		priority := int(d.requests[AllocationKey(v.Key)].Priority)
		if i == 0 {
			harm[2] = priority
		}
		harm[0], harm[2] = max(harm[0], int(v.Class)), max(harm[2], priority)
	}
	harm[3] = len(victims)
	return harm
}
