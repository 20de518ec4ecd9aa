package core

import (
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// What is kept for an ask until its victims have ended, on a node and of quota, is kept by
// one rule from others: less important ones take none of it, and more important ones that
// come later do.

// A hold says up to which priorities what is kept for an ask is kept from other asks: from
// those that may run anywhere, and from those that may run on one node only. Below says that
// of these an equal one may have it.
type hold struct {
	over     Standing
	required Standing
	below    bool
}

// A claimant is an ask that wants what may be kept for others.
type claimant struct {
	Standing
	required bool // it may run on one node only
	// any stands for the highest of many asks: what a fence shows of it is not known, and may
	// be the most of all.
	any bool
}

// keeps reports whether what is held is kept from a claimant.
func (h hold) keeps(c claimant) bool {
	if c.required {
		order := h.required.compare(c.Standing)
		return order > 0 || order == 0 && !h.below
	}
	order := h.over.compare(c.Standing)
	return order > 0 || order == 0 && !(c.any && h.over.fences != "")
}

// hold is how what is kept for an ask is kept. Room that is made by a guarantee is not given
// to any other ask that may run anywhere, as none could evict the ask by priority once it
// runs. These do not get what is kept for an ask with a required node either: its node is
// closed to them.
func (r *request) hold() hold {
	if r.promised() {
		return promiseHold(r.class.standing, r.wait.promise.over)
	}
	return r.nominated().hold(r.class.standing)
}

// promiseHold is the hold of an ask with a required node that has a standing, and of which
// is known what waited already.
func promiseHold(standing, over Standing) hold {
	return hold{over: Standing{Root: math.MaxInt32}, required: standing.join(over)}
}

// hold is the same for the nomination of an ask that has a standing.
func (h *nomination) hold(standing Standing) hold {
	return nominationHold(h.holdsWith(standing), standing, h.overRequired)
}

// nominationHold is the hold of an ask that may run anywhere. Asks that may run on the node
// only take the room of an equal one, if they did not wait already.
func nominationHold(over, standing, overRequired Standing) hold {
	if overRequired.compare(standing) < 0 {
		return hold{over, standing, true}
	}
	return hold{over: over, required: standing.join(overRequired)}
}

// claimant is an ask as one that wants what is kept for others. One for which something is
// kept respects what is kept for those that come before it, and for itself.
func (r *request) claimant() claimant {
	switch {
	case r.promised():
		return claimant{Standing: r.hold().required, required: true}
	case r.Required != "":
		return claimant{Standing: r.class.standing, required: true}
	}
	return claimant{Standing: r.nominationStanding()}
}

// quotaWaiters is the highest standing of the asks with a required node that wait, could run there, and may
// want quota, or the limit of a user, which an ask wants too: those that lack it, and those that are too young to have
// room made, or for which none can be made.
func (r *request) quotaWaiters() Standing {
	highest := noStanding
	for q := r.application.queue; q != nil; q = q.parent {
		if len(q.max) > 0 {
			highest = highest.join(q.bound.highest())
		}
	}
	for _, account := range [...]*account{r.application.byUser, r.application.byGroup} {
		for ; account != nil; account = account.parent {
			if len(account.max) > 0 { // of all users: those that the limit is not for do no harm
				highest = highest.join(account.subject.queue.bound.highest())
			}
		}
	}
	return highest
}

// nominationStanding is the standing with which an ask holds the room that is kept
// for it, or its own if it is not nominated.
func (r *request) nominationStanding() Standing {
	return r.nominated().holdsWith(r.class.standing)
}

// holdsWith is the same for an ask of a standing.
func (h *nomination) holdsWith(standing Standing) Standing {
	if h == nil {
		return standing
	}
	return standing.join(h.over)
}

// madeByGuarantee reports whether what a plan counts on was made by the guarantee of the
// queue of its ask: by its own victims, or by those that still end on the node for another
// ask of that leaf. Room that leaves for other reasons is open to more important asks.
func (s *nominations) madeByGuarantee(r *request, n *node, plan *preemptor.Decision) bool {
	return plan.Trigger == preemptor.Guarantee && (len(plan.Victims) > 0 || slices.ContainsFunc(n.own, func(v *request) bool {
		if !v.releasing() || v.eviction.reported || v.eviction.trigger != preemptor.Guarantee {
			return false
		}
		other := s.requests[v.eviction.ask]
		return other != nil && other.application.queue == r.application.queue
	}))
}

// putKeptFirst puts each ask for which room is on its way before those, more important ones, from
// which that room is kept: if it loses the room, they are the first to which it is open.
func putKeptFirst(list []*request) {
	for i, r := range list {
		if !r.promised() {
			continue
		}
		if at := slices.IndexFunc(list[:i], func(other *request) bool { return keepsFromEarlier(r, other) }); at >= 0 {
			copy(list[at+1:i+1], list[at:i])
			list[at] = r
		}
	}
}

// firstInOrder is the first in order of the asks that are left of such a list.
func firstInOrder(left []*request) *request {
	first := left[0]
	if !first.promised() {
		return first
	}
	for _, r := range left[1:] {
		if r.rank().compare(first.rank()) < 0 {
			first = r
		}
	}
	return first
}

// A keptQuota is the quota that is kept in one queue for the asks with the same hold.
type keptQuota struct {
	hold
	amounts resources.Sum
	asks    int
}

func (k *keptQuota) add(amounts resources.Amounts) {
	k.amounts.Add(amounts)
	k.asks++
}

func (k *keptQuota) sub(amounts resources.Amounts) {
	k.amounts.Sub(amounts)
	k.asks--
}

// keptBy is what is kept with a hold, which is made if there is nothing. There are few: most
// asks hold what is kept for them with their own priority.
func (a *account) keptBy(h hold) *keptQuota {
	for i := range a.kept {
		if a.kept[i].hold == h {
			return &a.kept[i]
		}
	}
	a.kept = append(a.kept, keptQuota{hold: h})
	return &a.kept[len(a.kept)-1]
}

// keptFrom is how much quota of a kind is kept from a claimant.
func (a *account) keptFrom(c claimant, kind resources.Kind) (sum int64) {
	for i := range a.kept {
		if a.kept[i].keeps(c) {
			sum = resources.Total(sum, a.kept[i].amounts.Of(kind))
		}
	}
	return sum
}

// keepsForOthers reports whether anything is kept here from an ask for other ones.
func (a *account) keepsForOthers(r *request) bool {
	c, asks := r.claimant(), 0
	for i := range a.kept {
		if a.kept[i].keeps(c) {
			asks += a.kept[i].asks
		}
	}
	if r.keepsQuota() {
		asks--
	}
	return asks > 0
}

// lowestHold is the lowest priority, as the root sees it, up to which anything is kept from
// asks that may run anywhere; the highest of all if nothing is. What is kept inside a fence
// may be taken by asks of the same priority.
func (a *account) lowestHold() int32 {
	lowest := int32(math.MaxInt32)
	for i := range a.kept {
		over := a.kept[i].over
		if lowest = min(lowest, over.Root); over.fences != "" && lowest == over.Root && lowest > math.MinInt32 {
			lowest--
		}
	}
	return lowest
}

// hasRoom reports whether this account alone can be charged for a claimant, beside what
// is kept from it.
func (a *account) hasRoom(amounts resources.Amounts, c claimant) bool {
	return a.max.Holds(amounts, a.used.Amounts, a.nominated.Amounts, amounts) || len(a.kept) > 0 && a.holds(amounts, c, amounts)
}

// keepsRoom reports the same for amounts that are part of what is kept.
func (a *account) keepsRoom(amounts resources.Amounts, c claimant) bool {
	return a.max.Holds(amounts, a.used.Amounts, a.nominated.Amounts) || a.holds(amounts, c, nil)
}

// holds reports whether what is used, what is kept from a claimant, and more is within the
// max, of the kinds of some amounts.
func (a *account) holds(amounts resources.Amounts, c claimant, more resources.Amounts) bool {
	for i := range min(len(a.max), len(amounts)) {
		kind := resources.Kind(i)
		if amounts[i] <= 0 || a.max[i] == resources.Unlimited {
			continue
		}
		if resources.Total(a.used.Of(kind), a.keptFrom(c, kind), more.Of(kind)) > a.max[i] {
			return false
		}
	}
	return true
}

// isOverbooked reports whether more is used and kept here or above than can be once all
// evictions have ended.
func (a *account) isOverbooked() bool {
	for ; a != nil; a = a.parent {
		for i := range a.max {
			kind := resources.Kind(i)
			if a.max[i] != resources.Unlimited && a.nominated.Of(kind) > 0 &&
				resources.Total(a.used.Of(kind), -a.releasing.Of(kind), a.nominated.Of(kind)) > a.max[i] {
				return true
			}
		}
	}
	return false
}
