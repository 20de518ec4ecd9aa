package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
)

// Verify recounts everything and returns the first broken law, or nil: those of each part, and
//
//   - each ask that waits names a condition that will wake it, and that condition exists;
//   - what ends by itself has a time to do so.
//
// It is linear in the size of the partition and meant for tests and simulations. It
// changes nothing: if it reacted to what has changed, other asks could come first. So
// between a command and Schedule, which reacts, orders and what is known not to fit are
// not checked.
func (p *Partition) Verify() error {
	defer func(work api.Work) { *p.Work = work }(*p.Work)
	if err := p.Ledger.Verify(); err != nil {
		return err
	}
	if err := p.Backlog.Verify(&p.order); err != nil {
		return err
	}
	for _, part := range []interface{ Verify() error }{
		&p.refused, &p.kept, &p.slots, &p.evictions, &p.retries, &p.quotas, &p.costs, &p.hints, &p.renominations, &p.groups,
	} {
		if err := part.Verify(); err != nil {
			return err
		}
	}
	v := laws.Check{Partition: p.Name}
	if p.Changes.None() {
		p.topology.Verify(&v)
	}
	p.checkWakes(&v)
	p.checkBound(&v)
	p.checkEnds(&v)
	p.checkTrials(&v)
	return v.Err
}

// checkWakes checks that each ask that waits names a condition that will wake it, and that this
// condition exists. What lacks quota or the room of a limit is found when these change; the lists of
// nodes, gangs, refusals and failed attempts are checked where they are kept.
func (p *Partition) checkWakes(v *laws.Check) {
	if !p.Rests {
		return
	}
	if r := p.Next(backlog.Skips{}); r != nil && len(p.dirty) == 0 {
		v.Breaks("%s may be tried, and all rests", r.Key)
	}
	for _, r := range p.Requests {
		if r.Foreign() || r.RunsOn != nil || r.Wait == nil {
			continue
		}
		w := r.Wait
		switch {
		case w.Delayed && p.MomentOf(r, backlog.Retry).IsZero():
			v.Breaks("%s is delayed for ever", r.Key)
		case r.Reserved() && p.MomentOf(r, backlog.ClaimEnds).IsZero():
			v.Breaks("the claim of %s lasts for ever", r.Key)
		case w.Paused() && !w.Guard.Timer.Set():
			v.Breaks("room is never made again for %s", r.Key)
		}
	}
}

// checkBound checks that asks that are bound to a node are tried when that changes, or when there is the quota for which
// they wait, and that claims can be used: there is room for each when all has left that may leave.
func (p *Partition) checkBound(v *laws.Check) {
	for n := range p.AllNodes {
		tried := p.isDirty.Get(n.Slot, n)
		if tried != slices.ContainsFunc(p.dirty, func(d dirtyNode) bool { return d.Node == n }) {
			v.Breaks("the asks of node %s are tried is %t, and it is listed is %t", n.ID, tried, !tried)
		}
		for _, r := range n.Claims {
			if p.Changes.None() && (!tried || p.Left > 0) && r.Nominated() == nil && !r.Claim().Replaces && !r.Amounts.FitsIn(n.Usable(r)) {
				v.Breaks("node %s: %s has a claim there and can never use it", n.ID, r.Key)
			}
		}
	}
	for _, r := range p.Requests {
		if r.Wait != nil && r.Wait.HeldBy != nil && !slices.Contains(r.Wait.HeldBy.Held, r) {
			v.Breaks("%s is not tried when %s has room", r.Key, r.Wait.HeldBy.Subject)
		}
	}
}

// checkEnds checks that an application that ends by itself has a time to do so, and no other.
func (p *Partition) checkEnds(v *laws.Check) {
	for app := range p.Applications.Ascend {
		completing := app.State == api.Completing || p.unused(app)
		completes := p.completes(app)
		if completing != completes || completing && !app.IsDone() {
			v.Breaks("application %s is %s, and completes is %t", app.ID, app.State, completes)
		}
		if app.BacksOff() && !app.Failures.Backoff.Timer.Set() {
			v.Breaks("application %s backs off for ever", app.ID)
		}
		if !app.MayRun() {
			v.Breaks("application %s is %s and runs %d allocations", app.ID, app.State, len(app.Allocations))
		}
	}
}
