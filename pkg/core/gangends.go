package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/api"

// gangTimedOut is in the message of the change of state of an application whose placeholders
// timed out. Resource managers look for it.
const gangTimedOut = "ResourceReservationTimeout"

// expireGang ends the placeholders of an application that were not replaced in time. The
// resource manager hears of the state first: a release could be taken for progress. While the
// settling time lasts, asks that take their places may be reported yet.
func (p *Partition) expireGang(app *application) {
	if until := p.settling.end(); until.After(p.now) {
		p.timers.Set(&app.gang.timer, until, due{what: dueGang, of: app})
		return
	}
	why, all := "placeholder timed out", false
	switch {
	case app.state != api.Accepted:
	case app.gang.style == api.Soft:
		p.enter(app, api.Resuming, gangTimedOut)
	default:
		p.enter(app, api.Failing, gangTimedOut)
		why, all = "the gang of the application timed out", true
	}
	for _, r := range byKey(app.asks) {
		if !r.Placeholder && !all {
			continue
		}
		if g := r.taskGroup(); g != nil && r.Placeholder {
			p.countLost(g)
		}
		p.tell(&api.ReleaseRequested{Allocation: r.Allocation, Cause: api.CauseTimedOut, Message: why})
		p.endAsk(r, api.CauseTimedOut)
	}
	p.dismissRunning(app, all, why)
	p.completeLater(app) // its last asks may have been placeholders
}

// placeholderEnded has the ask run that takes the place of a placeholder which has ended on a node.
func (p *Partition) placeholderEnded(r *request, n *node) {
	g := r.taskGroup()
	if g == nil {
		return
	}
	with := r.pair()
	if with == nil || with.ask == nil {
		p.countLost(g)
		return
	}
	ask, target, fits := with.ask, n, !n.gone
	if c := ask.claim(); c != nil {
		target, fits = c.node, ask.Amounts.FitsIn(c.node.freeFor(ask))
	}
	if !fits {
		p.countLost(g)
		p.kept.rejoin(ask)
		return
	}
	g.replaced++
	settled := ask.wait != nil && ask.wait.tookEqual
	p.endWait(ask)
	ask.Allocation = ask.PlacedOn(target.id, p.now)
	ask.Replaced, ask.Settled = true, settled
	p.run(ask, target)
	target.allowExcess()
	ask.application.allowExcess()
	p.changes.node(target, nodeRetry)
	p.changes.placed = append(p.changes.placed, ask)
	p.tell(api.Placed{Allocation: ask.Allocation})
}
