package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// checkClaims checks that each claim is known to its ask, its node and the list of all, and that
// of groups only the one whose turn it is has any.
func checkClaims(v *verifier) {
	var importances tables.Counts
	idle, withQuota := 0, 0
	for at, r := range v.p.Claims {
		c := r.Claim()
		if c == nil || c.At != at || v.p.Requests[r.Key] != r || r.RunsOn != nil || !slices.Contains(c.Node.Claims, r) {
			v.breaks("%s is listed with a claim, and has none", r.Key)
			return
		}
		importances.Add(r.Importance)
		if c.IsIdle() {
			idle++
		}
		if c.Evicts {
			withQuota++
		}
		if with := r.Pair(); c.Replaces != (with != nil && with.Ask == r) {
			v.breaks("%s has a claim on node %s in place of a placeholder is %t", r.Key, c.Node.ID, c.Replaces)
		}
		if c.Whole && v.p.Holder != r.StartsWith {
			v.breaks("node %s is kept for %s, of a group whose turn it is not", c.Node.ID, r.Key)
		}
		if r.Required != "" && !c.Evicts && (r.Wait.Plan == nil || r.Wait.Plan.Reason != preemptor.TooYoung) {
			v.breaks("%s has a claim on node %s and no room is on its way", r.Key, c.Node.ID)
		}
	}
	if withQuota != len(v.p.QuotaClaims) || !slices.IsSortedFunc(v.p.QuotaClaims, ledger.ByClaim) || slices.ContainsFunc(v.p.QuotaClaims, func(r *ledger.Request) bool { return !r.KeepsQuota() }) {
		v.breaks("%d claims keep quota, and %d are listed, in order or not", withQuota, len(v.p.QuotaClaims))
	}
	if idle != v.p.Idle {
		v.breaks("%d claims have no evictions, counted %d", idle, v.p.Idle)
	}
	if !slices.Equal(importances, v.p.Importances) {
		v.breaks("importances of claims: counted %v, booked %v", importances, v.p.Importances)
	}
}

// checkClaimsOn checks what leaves a node, and what is kept there, and that it can be used: there is room for each claim
// when all has left that may leave, and for one of an ask that may run anywhere the node takes asks.
func checkClaimsOn(v *verifier, n *ledger.Node, releasing resources.Sum) {
	if !n.Releasing.Same(releasing) {
		v.equal("releasing", string(n.ID), n.Releasing, releasing)
	}
	var stays, claimed resources.Sum
	for _, r := range n.Claims {
		claimed.Add(r.Amounts)
	}
	for r := range n.AllOn {
		if !r.Leaves() {
			stays.Add(r.Amounts)
		}
	}
	v.equal("stays", string(n.ID), n.Details.Read().Stays, stays)
	v.equal("claimed", string(n.ID), n.Details.Read().Claimed, claimed)
	if room := n.Free.Minus(claimed.Amounts); len(n.Claims) > 0 && !n.Room.Equal(room) || len(n.Claims) == 0 && !n.Room.Equal(n.Free) {
		v.breaks("node %s: has room for %s, beside what it keeps %s", n.ID, v.p.Kinds.Format(n.Room), v.p.Kinds.Format(room))
	}
	if !slices.IsSortedFunc(n.Claims, ledger.ByClaim) {
		v.breaks("node %s: claims are not in order", n.ID)
	}
	for _, r := range n.Claims {
		if c := r.Claim(); c == nil || c.Node != n {
			v.breaks("node %s: %s has a claim there and does not know", n.ID, r.Key)
			return
		}
		if r.Required == "" && !n.Schedulable {
			v.breaks("node %s: %s has a claim there although it takes nothing new", n.ID, r.Key)
		}
		if v.settled && (!n.Retry || v.p.Left > 0) && r.Nominated() == nil && !r.Claim().Replaces && !r.Amounts.FitsIn(n.Usable(r)) {
			v.breaks("node %s: %s has a claim there and can never use it", n.ID, r.Key)
		}
	}
}

// checkSlots checks what is counted of slots, and that a class is given one when it is its turn.
func checkSlots(v *verifier) {
	s, held, given := &v.p.slots, map[*class]int{}, 0
	for _, r := range v.p.Claims {
		if r.Claim() != nil && r.Reserved() && !r.Claim().Whole {
			held[v.p.classOf(r)]++
			given++
		}
	}
	if given != s.SlotsGiven {
		v.breaks("%d slots are given and %d are counted", given, s.SlotsGiven)
	}
	for _, c := range v.p.classes.known {
		if held[c] != c.slots.held {
			v.breaks("%s has %d slots and counts %d", v.p.Kinds.Format(c.amounts), held[c], c.slots.held)
		}
		if v.p.rests && mayHaveSlot(v, c) && !s.timer.Set() && !v.p.SlotsDue {
			v.breaks("%s fits no node, and nothing will give it a claim", v.p.Kinds.Format(c.amounts))
		}
		if listed := slices.Contains(s.classes, c); listed != c.slots.listed || v.p.Options.ReserveDelay >= 0 && c.parked && !listed {
			v.breaks("%s fits no node and is listed for a slot is %t", v.p.Kinds.Format(c.amounts), listed)
		}
	}
}

// mayHaveSlot reports whether an ask of a class should have a claim: it has fitted on no node for
// long enough, it fits on a node when all has left that may leave, and no limit, quota, answer or
// better claim is in its way.
func mayHaveSlot(v *verifier, c *class) bool {
	s := &v.p.slots
	if !c.parked || c.unschedulable || s.Options.ReserveDelay < 0 || c.since.Add(s.Options.ReserveDelay).After(s.Now) || s.leastPlace().holds(c) {
		return false
	}
	r := c.unclaimed((*ledger.Request).MayClaim)
	if r == nil {
		return false
	}
	if worst := s.worst(); s.SlotsGiven >= s.most() && (worst == nil || s.compare(c, c.slots.held+1, v.p.classOf(worst), v.p.classOf(worst).slots.held) >= 0) {
		return false
	}
	return slices.ContainsFunc(v.all, func(n *ledger.Node) bool {
		return n.Schedulable && s.mayHold(n, r, nil) && !c.refusedKept.Has(n.Slot, n.ChangedAt)
	})
}

// checkWakes checks that each ask that waits names a condition that will wake it, and that this
// condition exists. What lacks quota or the room of a limit is found when these change; the lists of
// nodes, gangs, refusals and failed attempts are checked where they are kept.
func checkWakes(v *verifier) {
	if !v.p.rests {
		return
	}
	if r := v.p.next(skips{}); r != nil && len(v.p.dirty) == 0 {
		v.breaks("%s may be tried, and all rests", r.Key)
	}
	for _, r := range v.p.Requests {
		if r.Foreign() || r.RunsOn != nil || r.Wait == nil {
			continue
		}
		w := r.Wait
		switch {
		case w.Delayed && w.Due.Retry.IsZero():
			v.breaks("%s is delayed for ever", r.Key)
		case r.Reserved() && w.Due.Claim.IsZero():
			v.breaks("the claim of %s lasts for ever", r.Key)
		case w.Paused() && !w.Guard.Timer.Set():
			v.breaks("room is never made again for %s", r.Key)
		}
	}
}
