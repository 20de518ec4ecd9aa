package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// reactToTaskGroups settles which asks wait for placeholders.
func (p *Partition) reactToTaskGroups() {
	for next := 0; next < len(p.Changes.TaskGroups); { // an ask that gives up its node adds its group
		g := p.Changes.TaskGroups[next]
		next++
		g.Change = false
		p.settleTaskGroup(g)
	}
	clear(p.Changes.TaskGroups)
	p.Changes.TaskGroups = p.Changes.TaskGroups[:0]
}

// settleTaskGroup has as many asks of a task group wait for placeholders as there are, the first in
// order, and the others for their turn.
func (p *Partition) settleTaskGroup(g *ledger.TaskGroup) {
	for g.Held.Len() > g.Left() {
		p.letGo(g, g.Held.Last())
	}
	for r := p.nextToHold(g); r != nil; r = p.nextToHold(g) {
		if g.Held.Len() == g.Left() {
			p.letGo(g, g.Held.Last())
		}
		p.holdForPlaceholder(g, r)
	}
	switch {
	case g.GoesOn && g.Waits: // it goes on after RetryDelay
	case g.Held.Len() > 0 && g.Free.Count > 0 && !g.Ready:
		g.Ready = true
		p.groupWork.ready = append(p.groupWork.ready, g)
	}
}

// letGo has an ask wait for no placeholder any more.
func (p *Partition) letGo(g *ledger.TaskGroup, r *ledger.Request) {
	g.Held.Remove(r)
	g.Others.Add(r)
	p.OrderAgain(r)
}

// holdForPlaceholder has one of the other asks wait for a placeholder.
func (p *Partition) holdForPlaceholder(g *ledger.TaskGroup, r *ledger.Request) {
	p.kept.End(r, "it waits for a placeholder", api.EndOfRoom)
	p.Extract(r)
	p.HoldBack(r, api.AwaitsPlaceholder, g.Name)
	g.Others.Remove(r)
	g.Held.Add(r)
}

// mayAwaitPlaceholder reports whether one of the other asks may wait for a placeholder again. One that
// has a node reserved gives it up for a placeholder that runs only.
func (p *Partition) mayAwaitPlaceholder(g *ledger.TaskGroup, r *ledger.Request) bool {
	return p.GroupOf(r) != nil && (r.Wait == nil || !r.Wait.Larger && r.Wait.Former == "") && r.Nominated() == nil &&
		(r.Claim() == nil || g.Free.Count > g.Held.Len())
}

// nextToHold is the first of the other asks that is to wait for a placeholder: there is one left, or
// the ask comes before one which waits, as it came later or its placeholder did; nil if there is none.
func (p *Partition) nextToHold(g *ledger.TaskGroup) *ledger.Request {
	spare := g.Held.Len() < g.Left()
	if !spare && g.Held.Len() == 0 {
		return nil
	}
	for r := range g.Others.All {
		switch {
		case !spare && ledger.InOrder(r, g.Held.Last()) > 0:
			return nil
		case p.mayAwaitPlaceholder(g, r):
			return r
		}
	}
	return nil
}

// retryTaskGroup has a task group tried again of which an ask took the place of no placeholder.
func (p *Partition) retryTaskGroup(g *ledger.TaskGroup) {
	if !g.Waits {
		g.Waits = true
		p.groupWork.unfit = append(p.groupWork.unfit, g)
	}
	p.retryGroupsBy(p.Now.Add(p.Options.RetryMax))
}

// gangRan notes that something of a gang runs. The first placeholder starts the clock.
func (p *Partition) gangRan(r *ledger.Request) {
	app := r.App
	switch {
	case app.State == api.Failing:
		p.dismiss(r, api.CauseTimedOut, "the application fails")
	case !r.Placeholder:
		app.Gang.Worked = true
	case r.InTaskGroup() != nil:
		app.Gang.Started = true
		if !app.Gang.Timer.Set() {
			p.Timers.Set(&app.Gang.Timer, p.Now.Add(app.Gang.Timeout), timers.Due{What: dueGang, Of: app})
		}
	}
}

// dismissRunning has all placeholders of an application ended that run, or all that runs, but for
// those whose place an ask takes.
func (p *Partition) dismissRunning(app *ledger.Application, all bool, why string) {
	for _, r := range ledger.ByKey(app.Allocations) {
		if r.Placeholder || all {
			p.dismiss(r, api.CauseTimedOut, why)
		}
	}
}

// dismiss has the resource manager end an allocation, unless it was told so already. Its
// room is counted on like that of a victim.
func (p *Partition) dismiss(r *ledger.Request, cause api.EndCause, why string) {
	if r.Eviction != nil || r.MakesWay() {
		return
	}
	p.SetEviction(r, &ledger.Eviction{Reported: true, Dismissed: true, Since: p.Now})
	p.evictions.Schedule(r)
	p.Changes.Node(r.RunsOn, ledger.NodeRetry|ledger.NodeYields)
	r.RunsOn.PlacedIn = p.Batch
	p.Tell(&api.ReleaseRequested{Allocation: r.Allocation, Cause: cause, Message: why})
}

// forgetGang drops what is to be done about the gang of an application that goes.
func (p *Partition) forgetGang(app *ledger.Application) {
	p.Timers.Cancel(&app.Gang.Timer)
	of, work := func(g *ledger.TaskGroup) bool { return g.Application == app }, &p.groupWork
	work.ready, work.unfit = slices.DeleteFunc(work.ready, of), slices.DeleteFunc(work.unfit, of)
	p.Changes.TaskGroups = slices.DeleteFunc(p.Changes.TaskGroups, of)
}
