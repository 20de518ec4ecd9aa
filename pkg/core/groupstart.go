package core

import (
	"cmp"
	"strings"
)

// startTogether places as many asks of a group as must start together, or none: then they are
// held back until something changes, and hold nothing meanwhile but what is kept for one group.
// What fits nowhere is passed over while enough others fit. The others are tried one by one once
// the group runs.
func (p *Partition) startTogether(g *group) outcome {
	if p.groupWork.tries++; p.groupWork.tries > groupTriesMax {
		return flush
	}
	p.work.Attempts++
	plan := p.newGroupPlan(g)
	switch plan.make() {
	case placed:
		if p.holder == g {
			p.dropGroupRoom()
		}
		for _, ask := range plan.asks {
			if n := plan.found[ask]; n != nil {
				p.place(ask, n)
			}
		}
		return placed
	case flush:
		return flush
	case waits, paused, busy:
	}
	p.holdGroup(g, plan.detail)
	g.needs = plan.needs()
	p.keepGroupRoom(plan)
	p.retryGroup(g)
	if plan.exhausted {
		g.needs = nil
		p.retryGroupsBy(p.now.Add(p.options.RetryDelay))
	}
	if len(g.needs) > 0 && !g.hinted {
		p.hints.later()
	}
	return waits
}

// Without claims, small asks could take whatever comes free for ever, and a group would never
// start. One group of a partition at a time has claims, so that no two wait for what the other
// has: the most important one, of these the one that waits longest. As many of its asks as must
// start claim their amounts on nodes, where all of them can run when all has left that may leave,
// or none does. After ReserveMax it is the turn of others.

// keepGroupRoom keeps room for the group of a plan that came to nothing, if it is its turn.
func (p *Partition) keepGroupRoom(plan *groupPlan) {
	g := plan.group
	if g.since.IsZero() {
		g.since = p.now
	}
	if p.holder == g && !g.until.After(p.now) {
		g.since = p.now // others come first now
		p.dropGroupRoom()
	}
	if !p.isTurnOf(g) {
		return
	}
	wanted := plan.found
	if plan.over > len(plan.asks)-plan.count || plan.empty() != placed && !plan.exhausted {
		wanted = nil // there is not enough quota or room for all of them
	}
	if (p.holder == g) == (len(wanted) == 0) {
		p.dropGroupRoom()
	}
	if len(wanted) == 0 {
		return
	}
	if p.holder == nil {
		p.holder, g.until = g, p.now.Add(p.options.ReserveMax)
	}
	for r := range g.asks.all {
		if held := r.claim(); held != nil && held.node != wanted[r] {
			p.endGroupClaim(r, "its group has other nodes")
		}
	}
	for r := range g.asks.all {
		if n := wanted[r]; n != nil {
			p.kept.reserve(r, n)
		}
	}
}

// isTurnOf reports whether room may be kept for a group now.
func (p *Partition) isTurnOf(g *group) bool {
	holder := p.holder
	switch {
	case p.options.ReserveDelay < 0:
		return false
	case holder == g:
		return true
	case g.since.Add(groupRoomDelay).After(p.now):
		return false
	}
	return holder == nil || cmp.Or(
		cmp.Compare(holder.importance(), g.importance()),
		g.since.Compare(holder.since),
		strings.Compare(g.name, holder.name),
	) < 0
}
