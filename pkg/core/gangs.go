package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// reactToTaskGroups settles which asks wait for placeholders.
func (p *Partition) reactToTaskGroups() {
	for next := 0; next < len(p.changes.taskGroups); { // an ask that gives up its node adds its group
		g := p.changes.taskGroups[next]
		next++
		g.change = false
		p.settleTaskGroup(g)
	}
	clear(p.changes.taskGroups)
	p.changes.taskGroups = p.changes.taskGroups[:0]
}

// settleTaskGroup has as many asks of a task group wait for placeholders as there are, the first in
// order, and the others for their turn.
func (p *Partition) settleTaskGroup(g *taskGroup) {
	for g.held.len() > g.left() {
		p.letGo(g, g.held.last())
	}
	for r := p.nextToHold(g); r != nil; r = p.nextToHold(g) {
		if g.held.len() == g.left() {
			p.letGo(g, g.held.last())
		}
		p.holdForPlaceholder(g, r)
	}
	switch {
	case g.goesOn && g.waits: // it goes on after RetryDelay
	case g.held.len() > 0 && g.free.count > 0 && !g.ready:
		g.ready = true
		p.groupWork.ready = append(p.groupWork.ready, g)
	}
}

// letGo has an ask wait for no placeholder any more.
func (p *Partition) letGo(g *taskGroup, r *request) {
	g.held.remove(r)
	g.others.add(r)
	p.orderAgain(r)
}

// holdForPlaceholder has one of the other asks wait for a placeholder.
func (p *Partition) holdForPlaceholder(g *taskGroup, r *request) {
	p.kept.end(r, "it waits for a placeholder", api.EndOfRoom)
	p.extract(r)
	p.holdBack(r, api.AwaitsPlaceholder, g.name)
	g.others.remove(r)
	g.held.add(r)
}

// mayAwaitPlaceholder reports whether one of the other asks may wait for a placeholder again. One that
// has a node reserved gives it up for a placeholder that runs only.
func (p *Partition) mayAwaitPlaceholder(g *taskGroup, r *request) bool {
	return p.groupOf(r) != nil && (r.wait == nil || !r.wait.larger && r.wait.former == "") && r.nominated() == nil &&
		(r.claim() == nil || g.free.count > g.held.len())
}

// nextToHold is the first of the other asks that is to wait for a placeholder: there is one left, or
// the ask comes before one which waits, as it came later or its placeholder did; nil if there is none.
func (p *Partition) nextToHold(g *taskGroup) *request {
	spare := g.held.len() < g.left()
	if !spare && g.held.len() == 0 {
		return nil
	}
	for r := range g.others.all {
		switch {
		case !spare && inOrder(r, g.held.last()) > 0:
			return nil
		case p.mayAwaitPlaceholder(g, r):
			return r
		}
	}
	return nil
}

// retryTaskGroup has a task group tried again of which an ask took the place of no placeholder.
func (p *Partition) retryTaskGroup(g *taskGroup) {
	if !g.waits {
		g.waits = true
		p.groupWork.unfit = append(p.groupWork.unfit, g)
	}
	p.retryGroupsBy(p.now.Add(p.options.RetryMax))
}

// gangRan notes that something of a gang runs. The first placeholder starts the clock.
func (p *Partition) gangRan(r *request) {
	app := r.application
	switch {
	case app.state == api.Failing:
		p.dismiss(r, api.CauseTimedOut, "the application fails")
	case !r.Placeholder:
		app.gang.worked = true
	case r.taskGroup() != nil:
		app.gang.started = true
		if !app.gang.timer.Set() {
			p.timers.Set(&app.gang.timer, p.now.Add(app.gang.timeout), due{what: dueGang, of: app})
		}
	}
}

// dismissRunning has all placeholders of an application ended that run, or all that runs, but for
// those whose place an ask takes.
func (p *Partition) dismissRunning(app *application, all bool, why string) {
	for _, r := range byKey(app.allocations) {
		if r.Placeholder || all {
			p.dismiss(r, api.CauseTimedOut, why)
		}
	}
}

// dismiss has the resource manager end an allocation, unless it was told so already. Its
// room is counted on like that of a victim.
func (p *Partition) dismiss(r *request, cause api.EndCause, why string) {
	if r.eviction != nil || r.makesWay() {
		return
	}
	p.setEviction(r, &eviction{reported: true, dismissed: true, since: p.now})
	p.evictions.schedule(r)
	p.changes.node(r.node, nodeRetry|nodeYields)
	r.node.placedIn = p.batch
	p.tell(&api.ReleaseRequested{Allocation: r.Allocation, Cause: cause, Message: why})
}

// forgetGang drops what is to be done about the gang of an application that goes.
func (p *Partition) forgetGang(app *application) {
	p.timers.Cancel(&app.gang.timer)
	of, work := func(g *taskGroup) bool { return g.application == app }, &p.groupWork
	work.ready, work.unfit = slices.DeleteFunc(work.ready, of), slices.DeleteFunc(work.unfit, of)
	p.changes.taskGroups = slices.DeleteFunc(p.changes.taskGroups, of)
}
