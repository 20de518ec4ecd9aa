package group

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// reactToTaskGroups settles which asks wait for placeholders.
func (s *Groups) reactToTaskGroups() {
	for g := range s.Changes.TakeTaskGroups { // an ask that gives up its node adds its group
		s.settleTaskGroup(g)
	}
}

// settleTaskGroup has as many asks of a task group wait for placeholders as there are, the first in
// order, and the others for their turn.
func (s *Groups) settleTaskGroup(g *ledger.TaskGroup) {
	for g.Held.Len() > g.Left() {
		s.letGo(g, g.Held.Last())
	}
	for r := s.nextToHold(g); r != nil; r = s.nextToHold(g) {
		if g.Held.Len() == g.Left() {
			s.letGo(g, g.Held.Last())
		}
		s.holdForPlaceholder(g, r)
	}
	switch work := s.of(g); {
	case work.goesOn && work.waits: // it goes on after RetryDelay
	case g.Held.Len() > 0 && g.Free.Count > 0 && !work.ready:
		work.ready = true
		s.ready = append(s.ready, g)
	}
}

// letGo has an ask wait for no placeholder any more.
func (s *Groups) letGo(g *ledger.TaskGroup, r *ledger.Request) {
	g.Held.Remove(r)
	g.Others.Add(r)
	s.OrderAgain(r)
}

// holdForPlaceholder has one of the other asks wait for a placeholder.
func (s *Groups) holdForPlaceholder(g *ledger.TaskGroup, r *ledger.Request) {
	s.Kept.End(r, "it waits for a placeholder", api.EndOfRoom)
	s.Extract(r)
	s.HoldBack(r, api.AwaitsPlaceholder, g.Name)
	g.Others.Remove(r)
	g.Held.Add(r)
}

// mayAwaitPlaceholder reports whether one of the other asks may wait for a placeholder again. One that
// has a node reserved gives it up for a placeholder that runs only.
func (s *Groups) mayAwaitPlaceholder(g *ledger.TaskGroup, r *ledger.Request) bool {
	return s.GroupOf(r) != nil && (r.Wait == nil || r.Wait.Former == "") && !s.larger.Get(r.Slot, r) && r.Nominated() == nil &&
		(r.Claim() == nil || g.Free.Count > g.Held.Len())
}

// nextToHold is the first of the other asks that is to wait for a placeholder: there is one left, or
// the ask comes before one which waits, as it came later or its placeholder did; nil if there is none.
func (s *Groups) nextToHold(g *ledger.TaskGroup) *ledger.Request {
	spare := g.Held.Len() < g.Left()
	if !spare && g.Held.Len() == 0 {
		return nil
	}
	for r := range g.Others.All {
		switch {
		case !spare && r.InOrder(g.Held.Last()) > 0:
			return nil
		case s.mayAwaitPlaceholder(g, r):
			return r
		}
	}
	return nil
}

// retryTaskGroup has a task group tried again of which an ask took the place of no placeholder.
func (s *Groups) retryTaskGroup(g *ledger.TaskGroup) {
	if work := s.of(g); !work.waits {
		work.waits = true
		s.unfit = append(s.unfit, g)
	}
	s.retryGroupsBy(s.Now.Add(s.Options.RetryMax))
}

// Resign forgets an ask that waits no more.
func (s *Groups) Resign(r *ledger.Request) {
	s.ResignTaskGroup(r)
	s.larger.Drop(r.Slot)
}

// Forget drops what is to be done about the gang of an application that goes.
func (s *Groups) Forget(app *ledger.Application) {
	of := func(g *ledger.TaskGroup) bool { return g.Application == app }
	s.ready, s.unfit = slices.DeleteFunc(s.ready, of), slices.DeleteFunc(s.unfit, of)
	s.Changes.ForgetGang(app)
	for _, g := range app.Gang.Groups {
		delete(s.replacing, g)
	}
}
