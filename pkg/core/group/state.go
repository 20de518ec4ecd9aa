package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// tooFew says of what there is too little for a group to start.
func tooFew(g *ledger.Group) string {
	if g.BySubgroup() {
		return "fewer subgroups have their members than must start together"
	}
	return "fewer members are there than must start together"
}

// state is what a group does.
func (w *waitingGroup) state() api.GroupState {
	switch {
	case !w.started:
		return api.GroupWaits
	case !w.below.IsZero():
		return api.GroupIsBelow
	}
	return api.GroupRuns
}

// why is why the asks of a group are held back.
func (s *Groups) why(g *ledger.Group) string { return cmp.Or(s.at(g).detail, tooFew(g)) }

// hold holds an ask back with its group.
func (s *Groups) hold(r *ledger.Request) {
	at := s.at(r.StartsWith)
	if at.below.IsZero() {
		s.HoldBack(r, heldReason(at), s.why(r.StartsWith))
		return
	}
	s.HoldBack(r, api.GroupBelow, fmt.Sprintf("%d of %d: %s", at.has, at.must, s.why(r.StartsWith)))
}

// settleState finds out whether a group has started, and whether it is below its minimum since. What another scheduler
// started, or was started before a restart, has started once the resource manager has told of everything. Where nothing of it
// runs or is done it starts anew.
func (s *Groups) settleState(g *ledger.Group) {
	at := s.at(g)
	if g.IsGang() {
		return
	}
	has, must := g.Runs()+g.Done(), g.Terms.Least
	at.started = at.runs || has > 0 && (at.started || s.Settled)
	at.hadTurn = at.hadTurn && !at.runs
	if g.BySubgroup() {
		has = g.Parts()
	}
	isBelow := at.started && !at.runs && g.Any() != nil
	switch {
	case !isBelow:
		at.below = time.Time{}
	case at.below.IsZero():
		at.below = s.Now
	}
	if isBelow && g.Terms.EndBelow > 0 {
		s.endLater(g)
	}
	s.keepLost(g)
	if isBelow && (at.has != has || at.must != must) {
		if at.has, at.must = has, must; !at.open {
			s.holdGroup(g, at.detail)
		}
	}
	s.tell(g)
}

// tell tells what a group does if that is new. Why one waits is told when that is known.
func (s *Groups) tell(g *ledger.Group) {
	at, member := s.at(g), g.Any()
	state, detail := at.state(), ""
	if state == api.GroupWaits {
		detail = s.why(g)
	}
	if member == nil || g.IsGang() || state == api.GroupWaits && at.open {
		return
	}
	if since, isNew := g.Tell(state, detail, at.below); isNew {
		s.Tell(&api.GroupChanged{
			Name: g.Quorum(), Application: member.Application, State: state,
			Running: g.Runs(), Done: g.Done(), Least: g.Terms.Least, BySubgroup: g.BySubgroup(), Subgroups: g.PartsThatRun(), Since: since, Detail: detail,
		})
	}
}

// SettleStates has all groups looked at again, since the resource manager has told of everything.
func (s *Groups) SettleStates() {
	for _, name := range slices.Sorted(maps.Keys(s.Together)) {
		s.Changes.Group(s.Together[name])
	}
}

// View is what a view shows of each group, and Restore needs, by name; nil if there is none.
func (s *Groups) View() map[string]api.GroupView {
	if len(s.Together) == 0 {
		return nil
	}
	done, v := s.ViewDone(), make(map[string]api.GroupView, len(s.Together))
	for name, g := range s.Together {
		at := s.at(g)
		of := api.GroupView{
			Terms: g.Terms, State: at.state(), Running: g.Runs(), Waiting: g.Asks.Len(), Done: g.Done(), DoneMembers: done[name], Subgroups: g.ViewParts(),
			BelowSince: at.below, MisfitSince: at.since, KeptUntil: at.until,
		}
		if !at.open {
			of.Detail = s.why(g)
		}
		v[name] = of
	}
	return v
}

// Restore takes what a view shows, before the claims of the members are there.
func (s *Groups) Restore(g *ledger.Group, v api.GroupView) {
	s.RestoreGroup(g, v)
	at := s.at(g)
	at.started, at.below = v.State != api.GroupWaits, v.BelowSince
	at.takeLevels(g)
	if at.since, at.until = v.MisfitSince, v.KeptUntil; !at.until.IsZero() {
		s.KeepRoomFor(g)
	}
}
