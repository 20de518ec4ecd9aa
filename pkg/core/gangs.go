package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// gangTimedOut is in the message of the change of state of an application whose placeholders
// timed out. Resource managers look for it.
const gangTimedOut = "ResourceReservationTimeout"

// gangRan notes that something of a gang runs. The first placeholder starts the clock.
func (p *Partition) gangRan(r *ledger.Request) {
	app := r.App
	if app.State == api.Failing {
		p.evictions.Dismiss(r, api.CauseTimedOut, "the application fails")
		return
	}
	p.GangRan(r)
	if r.Placeholder && r.InTaskGroup() != nil && !app.Gang.Timer.Set() {
		p.Timers.Set(&app.Gang.Timer, p.Now.Add(app.Gang.Timeout), timers.Due{What: timers.Gang, Of: app})
	}
}

// expireGang ends the placeholders of an application that were not replaced in time. The
// resource manager hears of the state first: a release could be taken for progress. While the
// settling time lasts, asks that take their places may be reported yet.
func (p *Partition) expireGang(app *ledger.Application) {
	if until := p.settling.End(); until.After(p.Now) {
		p.Timers.Set(&app.Gang.Timer, until, timers.Due{What: timers.Gang, Of: app})
		return
	}
	p.Changes.Application(app, 0) // it expires no more
	why, all := "placeholder timed out", false
	switch {
	case app.State != api.Accepted:
	case app.Gang.Style == api.Soft:
		p.enter(app, api.Resuming, gangTimedOut)
	default:
		p.enter(app, api.Failing, gangTimedOut)
		why, all = "the gang of the application timed out", true
	}
	for _, r := range ledger.ByKey(app.Asks) {
		if !r.Placeholder && !all {
			continue
		}
		if g := r.InTaskGroup(); g != nil && r.Placeholder {
			p.CountLost(g)
		}
		p.Tell(&api.ReleaseRequested{Allocation: r.Allocation, Cause: api.CauseTimedOut, Message: why})
		p.endAsk(r, api.CauseTimedOut)
	}
	p.dismissRunning(app, all, why)
	p.completeLater(app) // its last asks may have been placeholders
}

// placeholderEnded has the ask run that takes the place of a placeholder which has ended on a node.
func (p *Partition) placeholderEnded(r *ledger.Request, n *ledger.Node) {
	g := r.InTaskGroup()
	if g == nil {
		return
	}
	with := r.Pair()
	if with == nil || with.Ask == nil {
		p.CountLost(g)
		return
	}
	ask, target, fits := with.Ask, n, !n.Gone
	if c := ask.Claim(); c != nil {
		target, fits = c.Node, ask.Amounts.FitsIn(c.Node.FreeFor(ask))
	}
	if !fits {
		p.CountLost(g)
		p.kept.Rejoin(ask)
		return
	}
	p.CountReplaced(g)
	settled := p.kept.TookEqual(ask)
	p.endWait(ask)
	ask.Becomes(ask.PlacedOn(target.ID, p.Now))
	ask.Replaced, ask.Settled = true, settled
	p.run(ask, target)
	target.AllowExcess()
	ask.App.AllowExcess()
	p.Changes.Node(target, ledger.NodeRetry)
	p.Tell(api.Placed{Allocation: ask.Allocation})
}

// dismissRunning has all placeholders of an application ended that run, or all that runs, but for
// those whose place an ask takes.
func (p *Partition) dismissRunning(app *ledger.Application, all bool, why string) {
	for _, r := range ledger.ByKey(app.Allocations) {
		if r.Placeholder || all {
			p.evictions.Dismiss(r, api.CauseTimedOut, why)
		}
	}
}
