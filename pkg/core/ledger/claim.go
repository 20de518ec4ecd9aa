package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Claim is what is kept for an ask until it runs: its amounts on a node and, once evictions
// are on their way for it, its quota too. The ask may still run on any other node. What is kept of a
// member of a group that has ended is both.
//
// Only a more important ask takes what is kept, whatever it is: one that may run anywhere or on
// one node only, or the member of a group. The importance of an ask is its priority as
// the root sees it. An ask has at most one claim, and it is one that it can use: it can run on
// the node when all has left that may leave.
type Claim struct {
	Node   *Node
	at     int       // the place in the list of all
	Since  time.Time // for an ask with a required node, since when it had no room there
	Evicts bool      // evictions are on their way, or were, and the quota is kept
	// Replaces says that the ask takes the place of a placeholder elsewhere, and its quota, when that
	// has ended.
	Replaces bool
	Trigger  preemptor.Trigger
	Whole    bool // it is one of those of a group, and takes no slot
	// Lost says that its ask is a member of a group that has ended: it is kept for the one that takes its place.
	Lost bool
	// Harmless says that the loop guard forgets the evictions if the ask is placed.
	Harmless bool
}

// KeptSince notes since when it has been kept, where that was before a restart.
func (c *Claim) KeptSince(at time.Time) { c.Since = at }

// SayHarmless notes that the loop guard forgets the evictions for the ask if that is placed.
func (c *Claim) SayHarmless() { c.Harmless = true }

// Claim is what is kept for an ask; nil if nothing is.
func (r *Request) Claim() *Claim {
	if r.Wait == nil {
		return nil
	}
	return r.Wait.Claim
}

// KeepsQuota reports whether quota is kept for an ask: evictions are on their way for it, or another one takes its place.
func (r *Request) KeepsQuota() bool {
	c := r.Claim()
	return c != nil && (c.Evicts || c.Lost)
}

// awaits reports whether evictions are on their way for an ask.
func (r *Request) awaits() bool { return r.KeepsQuota() && r.Wait.Claim.Evicts }

// Nominated is the claim of an ask that may run anywhere and for which evictions are on their
// way, nil if there is none; promised reports the same of an ask with a required node.
func (r *Request) Nominated() *Claim {
	if r.Required != "" || !r.awaits() {
		return nil
	}
	return r.Wait.Claim
}

// Promised reports whether quota is kept for an ask that requires a node.
func (r *Request) Promised() bool { return r.Required != "" && r.awaits() }

// Reserved reports whether an ask that may run anywhere has a claim for which nothing is on its way.
func (r *Request) Reserved() bool {
	return r.Required == "" && r.Claim() != nil && r.Wait.Claim.IsIdle()
}

// IsIdle reports whether nothing is on its way for a claim: no evictions, nor the end of a placeholder.
func (c *Claim) IsIdle() bool { return !c.Evicts && !c.Replaces }

// Reservation is the claim of an ask as readers know it, if it is one of an ask with a required
// node, or nothing is evicted for it; nil if not.
func (r *Request) Reservation() *api.Reservation {
	c := r.Claim()
	if c == nil || r.Nominated() != nil {
		return nil
	}
	held := &api.Reservation{Node: c.Node.ID, Key: r.Key, At: c.Since, Required: r.Required != "", Amounts: r.Amounts}
	if c.Lost {
		held.Lost = r.Allocation
	}
	return held
}

// byClaim orders the asks that have claims on a node: the more important first, of equal ones
// those for which evictions are on their way, then those that may run there only, then by their
// order. Each has what is left beside those before it.
func byClaim(a, b *Request) int {
	if order := cmp.Compare(b.Importance, a.Importance); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(a.claimRank(), b.claimRank()), a.InOrder(b), cmp.Compare(a.Key, b.Key))
}

// claimRank orders the claims of equal asks.
func (r *Request) claimRank() int {
	switch {
	case !r.Wait.Claim.IsIdle():
		return 0
	case r.Required != "":
		return 1
	}
	return 2
}

// KeepsFrom reports whether what is kept for an ask on a node is kept from another one. Where nothing
// is evicted for it, it gives way to an equal ask that may run on that node only.
func (r *Request) KeepsFrom(other *Request) bool {
	if own := other.Claim(); own != nil && own.Node == r.Claim().Node {
		return other != r && byClaim(r, other) < 0
	}
	if r.Reserved() && other.Required != "" {
		return r.Importance > other.Importance
	}
	return r.Importance >= other.Importance
}

// claimsBefore is the sum of the claims on a node that are kept from an ask.
func (n *Node) claimsBefore(r *Request) (sum resources.Amounts) {
	for _, other := range n.Claims {
		if other.KeepsFrom(r) {
			sum.Add(other.Amounts)
		}
	}
	return sum
}

// leaves reports whether an allocation may leave its node before the node goes: it is neither
// static nor of a daemonset.
func (r *Request) leaves() bool { return r.Required == "" && r.Origin != api.Static }

// WhenLeft is what a node has when all has left that may leave.
func (n *Node) WhenLeft() resources.Amounts { return n.Capacity.Minus(n.Details.Read().stays.Amounts) }

// Usable is what a node has for an ask when all has left that may leave, beside the claims that
// are kept from it.
func (n *Node) Usable(r *Request) resources.Amounts {
	most := n.WhenLeft()
	if before := n.claimsBefore(r); len(before) > 0 {
		most = most.Minus(before)
	}
	return most
}

// IsBeyondMax reports whether an ask wants more than a queue, or its user, may ever use.
func (r *Request) IsBeyondMax() bool {
	for _, account := range r.App.Accounts() {
		for ; account != nil; account = account.Parent {
			if !r.Amounts.Within(account.Max) {
				return true
			}
		}
	}
	return false
}

// ReadyNode is the node that a nominated ask is nominated to, if the room is there.
func (r *Request) ReadyNode() *Node {
	n := r.Claim().Node
	if !n.Schedulable || !r.Amounts.FitsIn(n.FreeFor(r)) {
		return nil
	}
	return n
}

// ExpectedBefore lists the asks that will run on a node and whose room is kept from another one.
func (r *Request) ExpectedBefore(n *Node) []api.AllocationKey {
	var keys []api.AllocationKey
	for _, other := range n.Claims {
		if other != r && other.Required == "" && !other.Reserved() && other.Importance >= r.Importance {
			keys = append(keys, other.Key)
		}
	}
	return keys
}

// MayClaim reports whether no quota and no limit is in the way of an ask now.
func (r *Request) MayClaim() bool {
	return !r.IsBeyondMax() && r.WithoutRoom() == nil && r.HeldBack() == nil
}

// WhyLost says why an ask does not get the room that is made for it.
func (n *Node) WhyLost() string {
	if count, _ := n.Overdue(""); count > 0 {
		return "an eviction is overdue"
	}
	return "its room is taken"
}

// LostQuota reports whether an ask for which quota is kept does not get it, or its limits hold it
// back.
func (r *Request) LostQuota() bool {
	return r.HeldBack() != nil || r.WithoutRoom() != nil && r.QuotaToFree() != nil
}

// WhyNoQuota says why such an ask does not get its quota.
func (r *Request) WhyNoQuota() string {
	if held := r.HeldBack(); held != nil {
		return fmt.Sprintf("the limit of %s is taken", held.Subject)
	}
	if q := r.WithoutRoom(); q != nil {
		return fmt.Sprintf("the quota of queue %s is taken", q.Path)
	}
	return "its quota is taken"
}

// FirstBound is the first ask that is bound to the node, and its place; the last of all if
// there is none.
func (n *Node) FirstBound() (first AskRank, ask *Request) {
	first.importance = math.MinInt32
	consider := func(r *Request) {
		if rank := r.Rank(); ask == nil || rank.Compare(first) < 0 {
			first, ask = rank, r
		}
	}
	for r := range n.Required.All {
		consider(r)
	}
	for _, r := range n.Claims {
		consider(r)
	}
	return first, ask
}

// SharesQuota reports whether one of the asks that may run anywhere, have room on the node and keep quota
// wants quota, of a queue, user or group, that another ask wants too; any quota, if that is nil.
func (n *Node) SharesQuota(r *Request) bool {
	for _, other := range n.Claims {
		if other.Required != "" || !other.KeepsQuota() {
			continue
		}
		for account := range other.App.bounded {
			if r == nil {
				return true
			}
			for own := range r.App.bounded {
				if own == account {
					return true
				}
			}
		}
	}
	return false
}

// bounded visits the accounts of an application that have a max.
func (a *Application) bounded(yield func(*Account) bool) {
	for _, account := range a.Accounts() {
		for ; account != nil; account = account.Parent {
			if len(account.Max) > 0 && !yield(account) {
				return
			}
		}
	}
}

// What a member of a group had on its node that ended, and without which the group is below its minimum, is kept for the one that
// takes its place: a claim without an ask.

// KeepLost keeps what a member of an application had on a node. It is to be ranked next.
func (l *Ledger) KeepLost(g *Group, a *api.Allocation, app *Application, on *Node, since time.Time) {
	r := &Request{Allocation: a, App: app, StartsWith: g}
	g.Lost = append(g.Lost, r)
	l.AddClaim(r, &Claim{Node: on, Since: since, Whole: true, Lost: true})
	l.Changes.Node(on, NodeRetry)
	l.Tell(&api.Claimed{Allocation: a, Node: on.ID, Lost: true})
}

// Keeping visits the members, and those that have ended, for which anything is kept.
func (g *Group) Keeping(yield func(*Request) bool) {
	for r := range g.Asks.All {
		if r.Claim() != nil && !yield(r) {
			return
		}
	}
	for _, r := range g.Lost {
		if !yield(r) {
			return
		}
	}
}

// DropLost gives up what is kept for a member that has ended, and says why.
func (l *Ledger) DropLost(r *Request, why string) {
	r.StartsWith.Lost = without(r.StartsWith.Lost, r)
	n := l.DropClaim(r)
	l.Changes.Node(n, NodeFreed|NodeRetry)
	l.Tell(&api.ClaimEnded{Allocation: r.Allocation, Node: n.ID, Lost: true, End: api.EndOfRoom, Reason: why})
}

// dropLostOf gives up what is kept for members of an application that have ended.
func (l *Ledger) dropLostOf(app *Application) {
	for _, r := range slices.Clone(l.Claims) {
		if r.Wait.Claim.Lost && r.App == app {
			l.DropLost(r, "its application is gone")
		}
	}
}
