package core

import (
	"cmp"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// startTogether places as many asks of a group as must start together, or none: then they are
// held back until something changes, and hold nothing meanwhile but what is kept for one group.
// What fits nowhere is passed over while enough others fit. The others are tried one by one once
// the group runs.
func (p *Partition) startTogether(g *ledger.Group) question.Outcome {
	if p.groupWork.tries++; p.groupWork.tries > groupTriesMax {
		return question.Flush
	}
	p.Work.Attempts++
	plan := p.newGroupPlan(g)
	switch plan.make() {
	case question.Placed:
		if p.Holder == g {
			p.dropGroupRoom()
		}
		for _, ask := range plan.asks {
			if n := plan.found[ask]; n != nil {
				p.place(ask, n)
			}
		}
		return question.Placed
	case question.Flush:
		return question.Flush
	case question.Waits, question.Paused, question.Busy:
	}
	p.holdGroup(g, plan.detail)
	g.Needs = plan.needs()
	p.keepGroupRoom(plan)
	p.retryGroup(g)
	if plan.exhausted {
		g.Needs = nil
		p.retryGroupsBy(p.Now.Add(p.Options.RetryDelay))
	}
	if len(g.Needs) > 0 && !g.Hinted {
		p.Unhinted = true
	}
	return question.Waits
}

// Without claims, small asks could take whatever comes free for ever, and a group would never
// start. One group of a partition at a time has claims, so that no two wait for what the other
// has: the most important one, of these the one that waits longest. As many of its asks as must
// start claim their amounts on nodes, where all of them can run when all has left that may leave,
// or none does. After ReserveMax it is the turn of others.

// keepGroupRoom keeps room for the group of a plan that came to nothing, if it is its turn.
func (p *Partition) keepGroupRoom(plan *groupPlan) {
	g := plan.group
	if g.Since.IsZero() {
		g.Since = p.Now
	}
	if p.Holder == g && !g.Until.After(p.Now) {
		g.Since = p.Now // others come first now
		p.dropGroupRoom()
	}
	if !p.isTurnOf(g) {
		return
	}
	wanted := plan.found
	if plan.over > len(plan.asks)-plan.count || plan.empty() != question.Placed && !plan.exhausted {
		wanted = nil // there is not enough quota or room for all of them
	}
	if (p.Holder == g) == (len(wanted) == 0) {
		p.dropGroupRoom()
	}
	if len(wanted) == 0 {
		return
	}
	if p.Holder == nil {
		p.Holder, g.Until = g, p.Now.Add(p.Options.ReserveMax)
	}
	for r := range g.Asks.All {
		if held := r.Claim(); held != nil && held.Node != wanted[r] {
			p.endGroupClaim(r, "its group has other nodes")
		}
	}
	for r := range g.Asks.All {
		if n := wanted[r]; n != nil {
			p.kept.Reserve(r, n)
		}
	}
}

// isTurnOf reports whether room may be kept for a group now.
func (p *Partition) isTurnOf(g *ledger.Group) bool {
	holder := p.Holder
	switch {
	case p.Options.ReserveDelay < 0:
		return false
	case holder == g:
		return true
	case g.Since.Add(groupRoomDelay).After(p.Now):
		return false
	}
	return holder == nil || cmp.Or(
		cmp.Compare(holder.Importance(), g.Importance()),
		g.Since.Compare(holder.Since),
		strings.Compare(g.Name, holder.Name),
	) < 0
}
