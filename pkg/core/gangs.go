package core

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// gangs follow what becomes of gangs: which asks wait for a placeholder, when placeholders
// time out, and what ends with them.
type gangs struct{ *Partition }

// gangWork is what is to be done about gangs.
type gangWork struct {
	ready   []*taskGroup        // in which a placeholder may be replaced
	waiting []*application      // with a gang of which something fitted nowhere
	behind  map[*taskGroup]bool // of which asks wait for placeholders that wait themselves
	quorums []*quorum           // that fitted nowhere
	timer   timers.Timer[due]
	woken   time.Time    // when they were tried again last
	all     time.Time    // when all of them are, whatever has changed; zero is not at all
	tried   uint64       // the batch in which gangs that start whole were tried last
	tries   int          // how many
	looks   int          // at placeholders for asks, in this batch
	holder  *application // for whose gang nodes are kept; nil if there is none
}

// any reports whether any gang or quorum waits for room.
func (w *gangWork) any() bool { return len(w.waiting)+len(w.quorums) > 0 }

// react settles which asks wait for placeholders.
func (p gangs) react() {
	for next := 0; next < len(p.changes.taskGroups); { // an ask that gives up its node adds its group
		g := p.changes.taskGroups[next]
		next++
		g.change = false
		p.settle(g)
	}
	clear(p.changes.taskGroups)
	p.changes.taskGroups = p.changes.taskGroups[:0]
}

// settle has as many asks of a task group wait for placeholders as there are, the first in
// order, and the others for their turn.
func (p gangs) settle(g *taskGroup) {
	for g.held.len() > g.left() {
		p.let(g, g.held.last())
	}
	if g.held.len() < g.left() && g.others.len() > 0 {
		p.holdMore(g)
	}
	for r := g.overtaken(); r != nil; r = g.overtaken() {
		p.let(g, g.held.last())
		p.hold(g, r)
	}
	p.gangWork.noteBehind(g)
	gang := g.application.gang
	switch {
	case gang.whole && !gang.started && !gang.waits && g.asks > 0 && gang.isGathered():
		p.letAll(g.application)
	case g.next != nil && gang.waits: // it goes on after RetryDelay
	case g.held.len() > 0 && g.free > 0 && !g.ready:
		g.ready = true
		p.gangWork.ready = append(p.gangWork.ready, g)
	}
}

// noteBehind notes whether asks of a task group wait for placeholders that wait themselves.
func (w *gangWork) noteBehind(g *taskGroup) {
	if g.held.len() <= g.free {
		delete(w.behind, g)
		return
	}
	if w.behind == nil {
		w.behind = map[*taskGroup]bool{}
	}
	w.behind[g] = true
}

// let has an ask wait for no placeholder any more.
func (p gangs) let(g *taskGroup, r *request) {
	g.held.remove(r)
	g.others.add(r)
	p.release(r)
}

// release puts an ask that was held back in order.
func (p gangs) release(r *request) {
	w := r.wait
	w.held, w.reason, w.detail = false, NotTried, ""
	p.insert(r)
}

// holdMore has further asks wait for placeholders, but for those that got on without.
func (p gangs) holdMore(g *taskGroup) {
	for _, r := range g.others.list() {
		if g.held.len() == g.left() {
			return
		}
		if g.mayAwaitPlaceholder(r) {
			p.hold(g, r)
		}
	}
}

// hold has one of the other asks wait for a placeholder.
func (p gangs) hold(g *taskGroup, r *request) {
	p.kept.end(r, "it waits for a placeholder", LossOfRoom)
	p.extract(r)
	members{&p.ledger}.holdBack(r, AwaitsPlaceholder, g.name)
	g.others.remove(r)
	g.held.add(r)
}

// mayAwaitPlaceholder reports whether one of the other asks may wait for a placeholder again. One that
// has a node reserved gives it up for a placeholder that runs only.
func (g *taskGroup) mayAwaitPlaceholder(r *request) bool {
	return r.group != nil && (r.wait == nil || !r.wait.larger && r.wait.former == "") && r.nominated() == nil &&
		(r.claim() == nil || g.free > g.held.len())
}

// overtaken is the first of the other asks that comes before one which waits for a placeholder, as
// it came later or its placeholder did; nil if there is none.
func (g *taskGroup) overtaken() *request {
	if g.held.len() == 0 {
		return nil
	}
	last := g.held.last()
	for r := range g.others.all {
		switch {
		case inOrder(r, last) > 0:
			return nil
		case g.mayAwaitPlaceholder(r):
			return r
		}
	}
	return nil
}

// letAll has all placeholders of a gang tried that starts whole.
func (p gangs) letAll(app *application) {
	for _, r := range byKey(app.asks) {
		if r.Placeholder && r.isHeld() {
			p.release(r)
		}
	}
}

// later has a gang tried again: soon after something has changed that may help, or when the
// outside may have changed.
func (p gangs) later(app *application) {
	if work := &p.gangWork; !app.gang.waits {
		app.gang.waits = true
		work.waiting = append(work.waiting, app)
		at := p.now.Add(p.options.RetryMax)
		if turn := app.gang.since.Add(gangRoomDelay); turn.After(p.now) && turn.Before(at) {
			at = turn
		}
		if work.all.IsZero() || work.all.After(at) {
			work.all = at
		}
		p.before(at)
	}
}

// cameFree has the gangs that wait tried again, since there may be room or quota for them: in this
// batch, or the asks behind them would take it, but not more often than RetryDelay allows.
func (p gangs) cameFree() {
	work := &p.gangWork
	if !work.any() {
		return
	}
	if at := work.woken.Add(p.options.RetryDelay); at.After(p.now) {
		p.before(at)
		return
	}
	p.wake()
	quorums(p).wake()
}

// soon has the gangs that wait tried again after a while.
func (p gangs) soon() { p.before(p.now.Add(p.options.RetryDelay)) }

// before has them tried again at some time at the latest.
func (p gangs) before(at time.Time) {
	if work := &p.gangWork; !work.timer.Set() || work.timer.At().After(at) {
		p.timers.Set(&work.timer, at, due{what: dueGangs})
	}
}

// wake has the gangs that wait tried again: all of them when it is time, else those that what came
// free may help.
func (p gangs) wake() {
	work := &p.gangWork
	waiting, all := work.waiting, isDue(work.all, p.now)
	work.waiting, work.woken = nil, p.now
	if all {
		work.all = time.Time{}
	}
	for _, app := range waiting {
		if !all && p.isShort(app) {
			work.waiting = append(work.waiting, app)
			continue
		}
		app.gang.waits = false
		for _, g := range app.gang.groups {
			g.again = g.again || g.next == nil
			p.changes.taskGroup(g)
		}
	}
	if len(work.waiting) > 0 {
		p.before(work.all)
	}
}

// isShort reports whether a gang that starts whole fits the nodes no better than when it was tried last:
// there are not as many places as it has asks of some amounts.
func (p gangs) isShort(app *application) bool {
	needed, waits := int64(0), int64(0)
	for _, need := range app.gang.needs {
		needed += need.count
	}
	for _, g := range app.gang.groups {
		waits += int64(g.asks)
	}
	if !app.gang.whole || needed != waits {
		return false // others wait than those that were tried
	}
	if p.gangWork.holder == app {
		for _, r := range app.asks {
			if startsWhole(r) && r.claim() == nil {
				return false // another node may be kept for it
			}
		}
	}
	return slices.ContainsFunc(app.gang.needs, func(need gangNeed) bool {
		for n := range p.allNodes {
			if n.schedulable {
				need.count -= need.amounts.TimesIn(n.free)
			}
			if need.count <= 0 {
				return false
			}
		}
		return true
	})
}

// ran notes that something of a gang runs. The first placeholder starts the clock.
func (p gangs) ran(r *request) {
	app := r.application
	switch {
	case app.state == Failing:
		p.dismiss(r, CauseTimedOut, "the application fails")
	case !r.Placeholder:
		app.gang.worked = true
	case r.groupOf() != nil:
		app.gang.started = true
		if p.gangWork.holder == app {
			p.dropRoom()
		}
		if !app.gang.timer.Set() {
			p.timers.Set(&app.gang.timer, p.now.Add(app.gang.timeout), due{what: dueGang, application: app})
		}
	}
}

// dismissRunning has all placeholders of an application ended that run, but for those whose
// place an ask takes.
func (p gangs) dismissRunning(app *application, why string) {
	for _, r := range byKey(app.allocations) {
		if r.Placeholder {
			p.dismiss(r, CauseTimedOut, why)
		}
	}
}

// dismiss has the resource manager end an allocation, unless it was told so already. Its
// room is counted on like that of a victim.
func (p gangs) dismiss(r *request, cause EndCause, why string) {
	if with := r.replacement(); r.eviction != nil || with != nil && with.placeholder == r {
		return
	}
	p.setEviction(r, &eviction{reported: true, dismissed: true, since: p.now})
	p.evictions.schedule(r)
	p.changes.node(r.node, nodeRetry|nodeYields)
	r.node.placedIn = p.batch
	p.tell(&ReleaseRequested{r.Allocation, cause, why})
}

// rejoin has an ask wait anew that does not get the place of its placeholder.
func (p gangs) rejoin(r *request) {
	members{&p.ledger}.part(r)
	g := r.groupOf()
	g.others.add(r)
	p.release(r)
	p.changes.taskGroup(g)
}

// forgetGang drops what is to be done about the gang of an application that goes.
func (p gangs) forgetGang(app *application) {
	p.timers.Cancel(&app.gang.timer)
	if p.gangWork.holder == app {
		p.gangWork.holder = nil
	}
	of := func(g *taskGroup) bool { return g.application == app }
	p.gangWork.ready = slices.DeleteFunc(p.gangWork.ready, of)
	for _, g := range app.gang.groups {
		delete(p.gangWork.behind, g)
	}
	p.changes.taskGroups = slices.DeleteFunc(p.changes.taskGroups, of)
	p.gangWork.waiting = slices.DeleteFunc(p.gangWork.waiting, func(other *application) bool { return other == app })
}
