package ledger

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A quotaLack is what one of the queues of an ask lacks of quota.
type quotaLack struct {
	Queue   *Queue
	Amounts resources.Amounts
}

// A QuotaNeed is what the queues of an ask lack of quota, from the lowest on. Each is freed by
// what ends below that queue.
type QuotaNeed []quotaLack

// QuotaToFree is what the queues of an ask lack of quota once all evictions have
// ended; nil if nothing. What a queue lacks counts only as far as what a queue below it lacks
// is less.
func (r *Request) QuotaToFree() (need QuotaNeed) {
	var below resources.Amounts
	for q := r.App.Queue; q != nil; q = q.Parent {
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
func (q *Queue) quotaToFree(r *Request) (lack resources.Amounts) {
	for i, asked := range r.Amounts {
		kind := resources.Kind(i)
		most := q.Max.Of(kind)
		if asked <= 0 || most == resources.Unlimited {
			continue
		}
		if q.Used.Of(kind) > max(most, api.PlanMax) {
			lack.Set(kind, resources.Unlimited)
			continue
		}
		wanted := resources.Total(q.Used.Of(kind), -q.Releasing.Of(kind), q.KeptFrom(r.Importance, kind))
		if !r.KeepsQuota() {
			wanted = resources.Total(wanted, asked)
		}
		if wanted > most {
			lack.Set(kind, wanted-most)
		}
	}
	return lack
}

// Most is the most that any of the queues lacks of each kind.
func (need QuotaNeed) Most() (most resources.Amounts) {
	for i := range need {
		most.Raise(need[i].Amounts)
	}
	return most
}

// Within is the highest of the queues below which anything that ends frees some of the need; it
// is scope if that is lower.
func (need QuotaNeed) Within(scope *Queue) *Queue {
	if top := need[len(need)-1].Queue; top.Within(scope) {
		return top
	}
	return scope
}

// From is the first of the quotas that is freed by what ends in a leaf.
func (need QuotaNeed) From(leaf *Queue) int {
	for i := range need {
		if leaf.Within(need[i].Queue) {
			return i
		}
	}
	return len(need)
}

// SetOn sets what a plan frees of the quotas.
func (need QuotaNeed) SetOn(on *preemptor.Node) {
	for i := range need {
		if i == 0 {
			on.Quota = need[i].Amounts
		} else {
			on.Above = append(on.Above, need[i].Amounts)
		}
	}
}

// Equal reports whether two needs are of the same queues and amounts.
func (need QuotaNeed) Equal(other QuotaNeed) bool {
	return slices.EqualFunc(need, other, func(a, b quotaLack) bool { return a.Queue == b.Queue && a.Amounts.Equal(b.Amounts) })
}

// Surplus is how much of the use of a queue may be evicted before it falls below what is
// guaranteed to it. What is being evicted already does not count as use, nor does what did
// not end in time: it may end after all.
func (q *Queue) Surplus() resources.Limits {
	surplus := make(resources.Limits, len(q.Guaranteed))
	for i, guaranteed := range q.Guaranteed {
		kind := resources.Kind(i)
		surplus[i] = resources.Unlimited
		if guaranteed > 0 {
			surplus[i] = max(q.Used.Of(kind)-q.Releasing.Of(kind)-q.Overdue.Of(kind)-guaranteed, 0)
		}
	}
	return surplus
}

// UnderGuarantee reports whether what an ask in this leaf asks for is guaranteed and not
// used. At least one kind, and each of the given kinds, must be guaranteed to a queue
// between the leaf and a common queue. No queue there may get more than is guaranteed
// to it of any kind asked for, counting the ask and those that are nominated already. If the
// leaf looks at each kind by itself, those that are not given do not matter; without any given,
// one that is guaranteed and not used is enough.
func (q *Queue) UnderGuarantee(common *Queue, ask, kinds resources.Amounts) bool {
	guaranteed, perKind := false, q.Properties.GuaranteePerKind
	for i, asked := range ask {
		kind := resources.Kind(i)
		needed := kinds.Of(kind) > 0
		if asked <= 0 || perKind && !needed && !kinds.IsZero() {
			continue
		}
		here, within := kindUnderGuarantee(q, common, kind, asked)
		if !within && (needed || !perKind) || !here && needed {
			return false
		}
		guaranteed = guaranteed || here && within
	}
	return guaranteed
}

// kindUnderGuarantee reports whether a kind is guaranteed to any queue between a leaf and a
// common queue, and whether all of them stay within that with so much more.
func kindUnderGuarantee(leaf, common *Queue, kind resources.Kind, asked int64) (guaranteed, within bool) {
	within = true
	for q := leaf; q != common; q = q.Parent {
		if most := q.Guaranteed.Of(kind); most > 0 {
			guaranteed = true
			within = within && resources.Total(q.Used.Of(kind), q.Nominated.Of(kind), asked) <= most
		}
	}
	return guaranteed, within
}

// IsUnderGuarantee reports whether allocations of other queues may be evicted for an
// ask by the guarantee of its own.
func (r *Request) IsUnderGuarantee() bool {
	leaf := r.App.Queue
	for common := leaf.Parent; common != nil; common = common.Parent {
		if leaf.UnderGuarantee(common, r.Amounts, nil) {
			return true
		}
	}
	return false
}

// GuaranteedBelow is the highest queue within which an ask is under its guarantee.
func (r *Request) GuaranteedBelow() *Queue {
	leaf, top := r.App.Queue, r.App.Queue
	for common := leaf.Parent; common != nil; common = common.Parent {
		if leaf.UnderGuarantee(common, r.Amounts, nil) {
			top = common
		}
	}
	return top
}
