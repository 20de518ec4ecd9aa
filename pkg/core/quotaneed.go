package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A quotaLack is what one of the queues of an ask lacks of quota.
type quotaLack struct {
	queue   *queue
	amounts resources.Amounts
}

// A quotaNeed is what the queues of an ask lack of quota, from the lowest on. Each is freed by
// what ends below that queue.
type quotaNeed []quotaLack

// quotaToFree is what the queues of an ask lack of quota once all evictions have
// ended; nil if nothing. What a queue lacks counts only as far as what a queue below it lacks
// is less.
func (r *request) quotaToFree() (need quotaNeed) {
	var below resources.Amounts
	for q := r.application.queue; q != nil; q = q.parent {
		lack := q.quotaToFree(r)
		if lack.FitsIn(below) {
			continue
		}
		need = append(need, quotaLack{q, lack})
		below.Raise(lack)
	}
	return need
}

// quotaToFree is what a queue lacks of quota for an ask. Of one that uses
// more than its max, and more than what is planned with, more is lacking than may be freed:
// its sums can end at the end of 64 bits.
func (q *queue) quotaToFree(r *request) (lack resources.Amounts) {
	for i, asked := range r.Amounts {
		kind := resources.Kind(i)
		most := q.max.Of(kind)
		if asked <= 0 || most == resources.Unlimited {
			continue
		}
		if q.used.Of(kind) > max(most, api.PlanMax) {
			lack.Set(kind, resources.Unlimited)
			continue
		}
		wanted := resources.Total(q.used.Of(kind), -q.releasing.Of(kind), q.keptFrom(r.importance, kind))
		if !r.keepsQuota() {
			wanted = resources.Total(wanted, asked)
		}
		if wanted > most {
			lack.Set(kind, wanted-most)
		}
	}
	return lack
}

// most is the most that any of the queues lacks of each kind.
func (need quotaNeed) most() (most resources.Amounts) {
	for i := range need {
		most.Raise(need[i].amounts)
	}
	return most
}

// within is the highest of the queues below which anything that ends frees some of the need; it
// is scope if that is lower.
func (need quotaNeed) within(scope *queue) *queue {
	if top := need[len(need)-1].queue; top.within(scope) {
		return top
	}
	return scope
}

// from is the first of the quotas that is freed by what ends in a leaf.
func (need quotaNeed) from(leaf *queue) int {
	for i := range need {
		if leaf.within(need[i].queue) {
			return i
		}
	}
	return len(need)
}

// setOn sets what a plan frees of the quotas.
func (need quotaNeed) setOn(on *preemptor.Node) {
	for i := range need {
		if i == 0 {
			on.Quota = need[i].amounts
		} else {
			on.Above = append(on.Above, need[i].amounts)
		}
	}
}

func (need quotaNeed) equal(other quotaNeed) bool {
	return slices.EqualFunc(need, other, func(a, b quotaLack) bool { return a.queue == b.queue && a.amounts.Equal(b.amounts) })
}

// surplus is how much of the use of a queue may be evicted before it falls below what is
// guaranteed to it. What is being evicted already does not count as use, nor does what did
// not end in time: it may end after all.
func (q *queue) surplus() resources.Limits {
	surplus := make(resources.Limits, len(q.guaranteed))
	for i, guaranteed := range q.guaranteed {
		kind := resources.Kind(i)
		surplus[i] = resources.Unlimited
		if guaranteed > 0 {
			surplus[i] = max(q.used.Of(kind)-q.releasing.Of(kind)-q.overdue.Of(kind)-guaranteed, 0)
		}
	}
	return surplus
}

// underGuarantee reports whether what an ask in a leaf asks for is guaranteed and not
// used. At least one kind, and each of the given kinds, must be guaranteed to a queue
// between the leaf and a common queue. No queue there may get more than is guaranteed
// to it of any kind asked for, counting the ask and those that are nominated already. If the
// leaf looks at each kind by itself, those that are not given do not matter; without any given,
// one that is guaranteed and not used is enough.
func underGuarantee(leaf, common *queue, ask, kinds resources.Amounts) bool {
	guaranteed, perKind := false, leaf.properties.GuaranteePerKind
	for i, asked := range ask {
		kind := resources.Kind(i)
		needed := kinds.Of(kind) > 0
		if asked <= 0 || perKind && !needed && !kinds.IsZero() {
			continue
		}
		here, within := kindUnderGuarantee(leaf, common, kind, asked)
		if !within && (needed || !perKind) || !here && needed {
			return false
		}
		guaranteed = guaranteed || here && within
	}
	return guaranteed
}

// kindUnderGuarantee reports whether a kind is guaranteed to any queue between a leaf and a
// common queue, and whether all of them stay within that with so much more.
func kindUnderGuarantee(leaf, common *queue, kind resources.Kind, asked int64) (guaranteed, within bool) {
	within = true
	for q := leaf; q != common; q = q.parent {
		if most := q.guaranteed.Of(kind); most > 0 {
			guaranteed = true
			within = within && resources.Total(q.used.Of(kind), q.nominated.Of(kind), asked) <= most
		}
	}
	return guaranteed, within
}

// isUnderGuarantee reports whether allocations of other queues may be evicted for an
// ask by the guarantee of its own.
func (r *request) isUnderGuarantee() bool {
	leaf := r.application.queue
	for common := leaf.parent; common != nil; common = common.parent {
		if underGuarantee(leaf, common, r.Amounts, nil) {
			return true
		}
	}
	return false
}

// guaranteedBelow is the highest queue within which an ask is under its guarantee.
func (r *request) guaranteedBelow() *queue {
	leaf, top := r.application.queue, r.application.queue
	for common := leaf.parent; common != nil; common = common.parent {
		if underGuarantee(leaf, common, r.Amounts, nil) {
			top = common
		}
	}
	return top
}
