package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// checkClaims checks that claims can be used: there is room for each when all has left that may leave.
func checkClaims(v *verifier) {
	for _, n := range v.all {
		for _, r := range n.Claims {
			if v.settled && (!n.Retry || v.p.Left > 0) && r.Nominated() == nil && !r.Claim().Replaces && !r.Amounts.FitsIn(n.Usable(r)) {
				v.breaks("node %s: %s has a claim there and can never use it", n.ID, r.Key)
			}
		}
	}
}

// checkSlots checks what is counted of slots, and that a class is given one when it is its turn.
func checkSlots(v *verifier) {
	s, held, given := &v.p.slots, map[*backlog.Class]int{}, 0
	for _, r := range v.p.Claims {
		if r.Claim() != nil && r.Reserved() && !r.Claim().Whole {
			held[v.p.ClassOf(r)]++
			given++
		}
	}
	if given != s.SlotsGiven {
		v.breaks("%d slots are given and %d are counted", given, s.SlotsGiven)
	}
	for _, c := range v.p.Classes.Known {
		if held[c] != c.Slots.Held {
			v.breaks("%s has %d slots and counts %d", v.p.Kinds.Format(c.Amounts), held[c], c.Slots.Held)
		}
		if v.p.rests && mayHaveSlot(v, c) && !s.Timer.Set() && !v.p.SlotsDue {
			v.breaks("%s fits no node, and nothing will give it a claim", v.p.Kinds.Format(c.Amounts))
		}
		if listed := slices.Contains(s.Unplaced, c); listed != c.Slots.Listed || v.p.Options.ReserveDelay >= 0 && c.Parked && !listed {
			v.breaks("%s fits no node and is listed for a slot is %t", v.p.Kinds.Format(c.Amounts), listed)
		}
	}
}

// mayHaveSlot reports whether an ask of a class should have a claim: it has fitted on no node for
// long enough, it fits on a node when all has left that may leave, and no limit, quota, answer or
// better claim is in its way.
func mayHaveSlot(v *verifier, c *backlog.Class) bool {
	s := &v.p.slots
	if !c.Parked || c.Unschedulable || s.Options.ReserveDelay < 0 || c.Since.Add(s.Options.ReserveDelay).After(s.Now) || s.LeastPlace().Holds(c) {
		return false
	}
	r := c.Unclaimed((*ledger.Request).MayClaim)
	if r == nil {
		return false
	}
	if worst := s.Worst(); s.SlotsGiven >= s.Most() && (worst == nil || s.Compare(c, c.Slots.Held+1, v.p.ClassOf(worst), v.p.ClassOf(worst).Slots.Held) >= 0) {
		return false
	}
	return slices.ContainsFunc(v.all, func(n *ledger.Node) bool {
		return n.Schedulable && s.MayHold(n, r, nil) && !c.RefusedKept.Has(n.Slot, n.ChangedAt)
	})
}

// checkWakes checks that each ask that waits names a condition that will wake it, and that this
// condition exists. What lacks quota or the room of a limit is found when these change; the lists of
// nodes, gangs, refusals and failed attempts are checked where they are kept.
func checkWakes(v *verifier) {
	if !v.p.rests {
		return
	}
	if r := v.p.Next(backlog.Skips{}); r != nil && len(v.p.dirty) == 0 {
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

// checkGroups checks that what is tried later of groups and gangs is listed for that.
func checkGroups(v *verifier) {
	for _, g := range v.p.Together {
		if g.Waits && !slices.Contains(v.p.groupWork.waiting, g) {
			v.breaks("group %s waits for nothing", g.Name)
		}
	}
	for app := range v.p.Applications.Ascend {
		if app.Gang == nil {
			continue
		}
		for _, task := range app.Gang.Groups {
			if r := v.p.nextToHold(task); v.settled && (r != nil || task.Held.Len() > task.Left()) {
				v.breaks("task group %s: %d asks wait for %d placeholders, and another one is to: %t", task.Name, task.Held.Len(), task.Left(), r != nil)
			}
		}
	}
}
