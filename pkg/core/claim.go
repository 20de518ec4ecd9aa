package core

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A claim is what is kept for an ask until it runs: its amounts on a node and, once evictions
// are on their way for it, its quota too. The ask may still run on any other node.
//
// Only a more important ask takes what is kept, whatever it is: one that may run anywhere or on
// one node only, or the member of a group. The importance of an ask is its priority as
// the root sees it. An ask has at most one claim, and it is one that it can use: it can run on
// the node when all has left that may leave.
type claim struct {
	node   *node
	at     int       // the place in the list of all
	since  time.Time // for an ask with a required node, since when it had no room there
	evicts bool      // evictions are on their way, or were, and the quota is kept
	// replaces says that the ask takes the place of a placeholder elsewhere, and its quota, when that
	// has ended.
	replaces bool
	trigger  preemptor.Trigger
	whole    bool // it is one of those of a group, and takes no slot
	// harmless says that the loop guard forgets the evictions if the ask is placed.
	harmless bool
}

// claim is what is kept for an ask; nil if nothing is.
func (r *request) claim() *claim {
	if r.wait == nil {
		return nil
	}
	return r.wait.claim
}

// keepsQuota reports whether quota is kept for an ask: evictions are on their way for it.
func (r *request) keepsQuota() bool {
	return r.wait != nil && r.wait.claim != nil && r.wait.claim.evicts
}

// nominated is the claim of an ask that may run anywhere and for which evictions are on their
// way, nil if there is none; promised reports the same of an ask with a required node.
func (r *request) nominated() *claim {
	if r.Required != "" || !r.keepsQuota() {
		return nil
	}
	return r.wait.claim
}

func (r *request) promised() bool { return r.Required != "" && r.keepsQuota() }

// reserved reports whether an ask that may run anywhere has a claim for which nothing is on its way.
func (r *request) reserved() bool {
	return r.Required == "" && r.claim() != nil && r.wait.claim.isIdle()
}

// isIdle reports whether nothing is on its way for a claim: no evictions, nor the end of a placeholder.
func (c *claim) isIdle() bool { return !c.evicts && !c.replaces }

// reservation is the claim of an ask as readers know it, if it is one of an ask with a required
// node, or nothing is evicted for it; nil if not.
func (r *request) reservation() *api.Reservation {
	c := r.claim()
	if c == nil || r.nominated() != nil {
		return nil
	}
	return &api.Reservation{Node: c.node.id, Key: r.Key, At: c.since, Required: r.Required != "", Amounts: r.Amounts}
}

// byClaim orders the asks that have claims on a node: the more important first, of equal ones
// those for which evictions are on their way, then those that may run there only, then by their
// order. Each has what is left beside those before it.
func byClaim(a, b *request) int {
	if order := cmp.Compare(b.importance, a.importance); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(a.claimRank(), b.claimRank()), inOrder(a, b))
}

// claimRank orders the claims of equal asks.
func (r *request) claimRank() int {
	switch {
	case !r.wait.claim.isIdle():
		return 0
	case r.Required != "":
		return 1
	}
	return 2
}

// keepsFrom reports whether what is kept for an ask on a node is kept from another one. Where nothing
// is evicted for it, it gives way to an equal ask that may run on that node only.
func (r *request) keepsFrom(other *request) bool {
	if own := other.claim(); own != nil && own.node == r.claim().node {
		return other != r && byClaim(r, other) < 0
	}
	if r.reserved() && other.Required != "" {
		return r.importance > other.importance
	}
	return r.importance >= other.importance
}

// claimsBefore is the sum of the claims on a node that are kept from an ask.
func (n *node) claimsBefore(r *request) (sum resources.Amounts) {
	for _, other := range n.claims {
		if other.keepsFrom(r) {
			sum.Add(other.Amounts)
		}
	}
	return sum
}

// leaves reports whether an allocation may leave its node before the node goes: it is neither
// static nor of a daemonset.
func (r *request) leaves() bool { return r.Required == "" && r.Origin != api.Static }

// whenLeft is what a node has when all has left that may leave.
func (n *node) whenLeft() resources.Amounts { return n.capacity.Minus(n.details.read().stays.Amounts) }

// usable is what a node has for an ask when all has left that may leave, beside the claims that
// are kept from it.
func (n *node) usable(r *request) resources.Amounts {
	most := n.whenLeft()
	if before := n.claimsBefore(r); len(before) > 0 {
		most = most.Minus(before)
	}
	return most
}

// isBeyondMax reports whether an ask wants more than a queue may ever use.
func (r *request) isBeyondMax() bool {
	for q := r.application.queue; q != nil; q = q.parent {
		if !r.Amounts.Within(q.max) {
			return true
		}
	}
	return false
}

// readyNode is the node that a nominated ask is nominated to, if the room is there.
func (r *request) readyNode() *node {
	n := r.claim().node
	if !n.schedulable || !r.Amounts.FitsIn(n.freeFor(r)) {
		return nil
	}
	return n
}

// expectedBefore lists the asks that will run on a node and whose room is kept from another one.
func (r *request) expectedBefore(n *node) []api.AllocationKey {
	var keys []api.AllocationKey
	for _, other := range n.claims {
		if other != r && other.Required == "" && !other.reserved() && other.importance >= r.importance {
			keys = append(keys, other.Key)
		}
	}
	return keys
}

// mayClaim reports whether no quota and no limit is in the way of an ask now.
func (r *request) mayClaim() bool {
	return !r.isBeyondMax() && r.withoutRoom() == nil && r.heldBack() == nil
}

// whyLost says why an ask does not get the room that is made for it.
func (n *node) whyLost() string {
	if count, _ := n.overdue(""); count > 0 {
		return "an eviction is overdue"
	}
	return "its room is taken"
}

// lostQuota reports whether an ask for which quota is kept does not get it, or its limits hold it
// back.
func (r *request) lostQuota() bool {
	return r.heldBack() != nil || r.withoutRoom() != nil && r.quotaToFree() != nil
}

// whyNoQuota says why such an ask does not get its quota.
func (r *request) whyNoQuota() string {
	if held := r.heldBack(); held != nil {
		return fmt.Sprintf("the limit of %s is taken", held.subject)
	}
	if q := r.withoutRoom(); q != nil {
		return fmt.Sprintf("the quota of queue %s is taken", q.path)
	}
	return "its quota is taken"
}

// firstBound is the first ask that is bound to the node, and its place; the last of all if
// there is none.
func (n *node) firstBound() (first askRank, ask *request) {
	first.importance = math.MinInt32
	consider := func(r *request) {
		if rank := r.rank(); ask == nil || rank.compare(first) < 0 {
			first, ask = rank, r
		}
	}
	for r := range n.required.all {
		consider(r)
	}
	for _, r := range n.claims {
		consider(r)
	}
	return first, ask
}

// sharesQuota reports whether one of the asks for which evictions are on their way to the node
// wants quota that another ask wants too; any quota, if that is nil.
func (n *node) sharesQuota(r *request) bool {
	for _, other := range n.claims {
		if other.nominated() == nil {
			continue
		}
		for q := other.application.queue; q != nil; q = q.parent {
			if len(q.max) > 0 && (r == nil || r.application.queue.within(q)) {
				return true
			}
		}
	}
	return false
}
