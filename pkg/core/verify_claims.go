package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// checkClaims checks that each claim is known to its ask, its node and the list of all, and that
// of groups only the one whose turn it is has any.
func checkClaims(v *verifier) {
	var importances tables.Counts
	idle, withQuota := 0, 0
	for at, r := range v.p.claims {
		c := r.claim()
		if c == nil || c.at != at || v.p.requests[r.Key] != r || r.node != nil || !slices.Contains(c.node.claims, r) {
			v.breaks("%s is listed with a claim, and has none", r.Key)
			return
		}
		importances.Add(r.importance)
		if c.isIdle() {
			idle++
		}
		if c.evicts {
			withQuota++
		}
		if with := r.pair(); c.replaces != (with != nil && with.ask == r) {
			v.breaks("%s has a claim on node %s in place of a placeholder is %t", r.Key, c.node.id, c.replaces)
		}
		if c.whole && v.p.holder != r.startsWith {
			v.breaks("node %s is kept for %s, of a group whose turn it is not", c.node.id, r.Key)
		}
		if r.Required != "" && !c.evicts && (r.wait.plan == nil || r.wait.plan.Reason != preemptor.TooYoung) {
			v.breaks("%s has a claim on node %s and no room is on its way", r.Key, c.node.id)
		}
	}
	if withQuota != len(v.p.quotaClaims) || !slices.IsSortedFunc(v.p.quotaClaims, byClaim) || slices.ContainsFunc(v.p.quotaClaims, func(r *request) bool { return !r.keepsQuota() }) {
		v.breaks("%d claims keep quota, and %d are listed, in order or not", withQuota, len(v.p.quotaClaims))
	}
	if idle != v.p.idle {
		v.breaks("%d claims have no evictions, counted %d", idle, v.p.idle)
	}
	if !slices.Equal(importances, v.p.importances) {
		v.breaks("importances of claims: counted %v, booked %v", importances, v.p.importances)
	}
}

// checkClaimsOn checks what leaves a node, and what is kept there, and that it can be used: there is room for each claim
// when all has left that may leave, and for one of an ask that may run anywhere the node takes asks.
func checkClaimsOn(v *verifier, n *node, releasing resources.Sum) {
	if !n.releasing.Same(releasing) {
		v.equal("releasing", string(n.id), n.releasing, releasing)
	}
	var stays, claimed resources.Sum
	for _, r := range n.claims {
		claimed.Add(r.Amounts)
	}
	for r := range n.allOn {
		if !r.leaves() {
			stays.Add(r.Amounts)
		}
	}
	v.equal("stays", string(n.id), n.details.read().stays, stays)
	v.equal("claimed", string(n.id), n.details.read().claimed, claimed)
	if room := n.free.Minus(claimed.Amounts); len(n.claims) > 0 && !n.room.Equal(room) || len(n.claims) == 0 && !n.room.Equal(n.free) {
		v.breaks("node %s: has room for %s, beside what it keeps %s", n.id, v.p.kinds.Format(n.room), v.p.kinds.Format(room))
	}
	if !slices.IsSortedFunc(n.claims, byClaim) {
		v.breaks("node %s: claims are not in order", n.id)
	}
	for _, r := range n.claims {
		if c := r.claim(); c == nil || c.node != n {
			v.breaks("node %s: %s has a claim there and does not know", n.id, r.Key)
			return
		}
		if r.Required == "" && !n.schedulable {
			v.breaks("node %s: %s has a claim there although it takes nothing new", n.id, r.Key)
		}
		if v.settled && (!n.retry || v.p.left > 0) && r.nominated() == nil && !r.claim().replaces && !r.Amounts.FitsIn(n.usable(r)) {
			v.breaks("node %s: %s has a claim there and can never use it", n.id, r.Key)
		}
	}
}

// checkSlots checks what is counted of slots, and that a class is given one when it is its turn.
func checkSlots(v *verifier) {
	s, held, given := &v.p.slots, map[*class]int{}, 0
	for _, r := range v.p.claims {
		if r.claim() != nil && r.reserved() && !r.claim().whole {
			held[v.p.classOf(r)]++
			given++
		}
	}
	if given != s.slotsGiven {
		v.breaks("%d slots are given and %d are counted", given, s.slotsGiven)
	}
	for _, c := range v.p.classes.known {
		if held[c] != c.slots.held {
			v.breaks("%s has %d slots and counts %d", v.p.kinds.Format(c.amounts), held[c], c.slots.held)
		}
		if v.p.rests && mayHaveSlot(v, c) && !s.timer.Set() && !v.p.slotsDue {
			v.breaks("%s fits no node, and nothing will give it a claim", v.p.kinds.Format(c.amounts))
		}
		if listed := slices.Contains(s.classes, c); listed != c.slots.listed || v.p.options.ReserveDelay >= 0 && c.parked && !listed {
			v.breaks("%s fits no node and is listed for a slot is %t", v.p.kinds.Format(c.amounts), listed)
		}
	}
}

// mayHaveSlot reports whether an ask of a class should have a claim: it has fitted on no node for
// long enough, it fits on a node when all has left that may leave, and no limit, quota, answer or
// better claim is in its way.
func mayHaveSlot(v *verifier, c *class) bool {
	s := &v.p.slots
	if !c.parked || c.unschedulable || s.options.ReserveDelay < 0 || c.since.Add(s.options.ReserveDelay).After(s.now) || s.leastPlace().holds(c) {
		return false
	}
	r := c.unclaimed((*request).mayClaim)
	if r == nil {
		return false
	}
	if worst := s.worst(); s.slotsGiven >= s.most() && (worst == nil || s.compare(c, c.slots.held+1, v.p.classOf(worst), v.p.classOf(worst).slots.held) >= 0) {
		return false
	}
	return slices.ContainsFunc(v.all, func(n *node) bool {
		return n.schedulable && s.mayHold(n, r, nil) && !c.refusedKept.Has(n.slot, n.changedAt)
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
	for _, r := range v.p.requests {
		if r.foreign() || r.node != nil || r.wait == nil {
			continue
		}
		w := r.wait
		switch {
		case w.delayed && w.due.retry.IsZero():
			v.breaks("%s is delayed for ever", r.Key)
		case r.reserved() && w.due.claim.IsZero():
			v.breaks("the claim of %s lasts for ever", r.Key)
		case w.paused() && !w.guard.timer.Set():
			v.breaks("room is never made again for %s", r.Key)
		}
	}
}
