package preemption

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// groupEvaluationsMax is for how many nodes it is worked out in one attempt for a group what room costs.
// Beyond that what was found so far is taken. It is twice as many after each attempt that failed, up to groupDoublingsMax times, so that
// no attempt ends at the same place for ever.
const (
	groupEvaluationsMax = 1 << 14
	groupDoublingsMax   = 6
)

// evaluationsPerAsk is how many there may always be for each of the asks in the set of nodes that is looked at: the bound is for the
// nodes of a large cluster, and keeps no large group waiting.
const evaluationsPerAsk = 16

// insteadEvaluationsMax is the same for those attempts that look for room for which other groups stop, or fewer.
const insteadEvaluationsMax = 1 << 11

// insteadMax is how many groups are tried that may stop instead of others.
const insteadMax = 8

// RoomForGroup finds where room for all of some asks that start together costs least, within one of some sets of nodes: by priority, or
// else by guarantee. What costs the same is taken in the first set. It is nil if there is none, or if that is to be asked again: in the
// next batch if the outcome is to flush, or at some time if that is not zero. So many attempts for these asks have failed before. If
// it is busy, there may be room that was not found within the bounds. It changes nothing.
func (a *Attempts) RoomForGroup(asks []*ledger.Request, sets iter.Seq[iter.Seq2[[]*ledger.Request, iter.Seq[*ledger.Node]]], failed int) (best *GroupRoom, again time.Time, result question.Outcome) {
	if a.Options.Budgets != nil && a.Evictions.Batched == a.Batch || a.Costs.Remaining <= 0 {
		return nil, again, question.Flush
	}
	if wait := a.Predicates.Wait(api.FurtherQuestion); wait > 0 {
		return nil, a.Now.Add(wait), question.Waits
	}
	left := a.Costs.Remaining
	most := groupEvaluations(failed)
	a.Costs.Remaining = most
	defer func() { a.Costs.Remaining += left - most }()
	result = question.Waits
	for _, t := range attemptOrder {
		holds, at := a.holdsForAll(t, asks)
		if again = at; !holds {
			continue
		}
		room, found := a.leastRoom(t, asks, sets)
		if room != nil || found == question.Flush {
			return room, again, found
		}
		result = max(result, found)
	}
	return nil, again, result
}

// groupEvaluations is for how many nodes it is worked out after so many attempts that failed.
func groupEvaluations(failed int) int { return groupEvaluationsMax << min(failed, groupDoublingsMax) }

// MayTakeRoom reports whether there may be victims for an ask that starts with others, by any trigger, now or later.
func (a *Attempts) MayTakeRoom(r *ledger.Request) bool {
	byPriority, _ := a.holdsForAll(preemptor.Priority, []*ledger.Request{r})
	return byPriority || r.IsUnderGuarantee()
}

// holdsForAll reports whether a trigger holds for asks that start together. If it is only too early for that, it says
// when it will.
func (a *Attempts) holdsForAll(t preemptor.Trigger, asks []*ledger.Request) (holds bool, at time.Time) {
	if t == preemptor.Priority {
		takes := func(r *ledger.Request) bool {
			return len(a.Running) > 0 && a.MayTake(r.Priority, a.Running[0].Priority)
		}
		return a.Preemption.Priority != api.PriorityOff && (!a.Plain || slices.ContainsFunc(asks, takes)), at
	}
	for _, r := range asks {
		if !r.IsUnderGuarantee() {
			return false, time.Time{}
		}
		if from := r.Created.Add(r.App.Queue.Properties.PreemptionDelay); from.After(at) {
			at = from
		}
	}
	if at.After(a.Now) {
		return false, at
	}
	return true, time.Time{}
}

// leastRoom finds where room costs least by a trigger. If groups stop for it, it looks in all sets for room for which fewer do, and
// for which others do.
func (a *Attempts) leastRoom(t preemptor.Trigger, asks []*ledger.Request, sets iter.Seq[iter.Seq2[[]*ledger.Request, iter.Seq[*ledger.Node]]]) (best *GroupRoom, result question.Outcome) {
	options := a.setsOf(t, sets)
	var least *nodeSet
	result = question.Waits
	for i, set := range options {
		if least != nil && set.compare(least, a.Preemption.Budgets) >= 0 {
			continue
		}
		left := a.Costs.Remaining
		if left <= 0 {
			result = question.Busy
			break
		}
		share := max(left/(len(options)-i), evaluationsPerAsk*len(asks)) // so that each of them is looked at
		a.Costs.Remaining = share
		room, found := a.roomSparing(t, asks, set.shares, func(string) bool { return false })
		a.Costs.Remaining += left - share
		switch {
		case found == question.Flush:
			return nil, question.Flush
		case room == nil:
			result = max(result, found)
			continue
		}
		set.room = room
		if set.least = room.cost; least == nil || set.compare(least, a.Preemption.Budgets) < 0 {
			least = set
		}
	}
	if least == nil {
		return nil, result
	}
	if len(least.least.Stops) > 0 {
		a.Costs.Remaining = min(a.Costs.Remaining, insteadEvaluationsMax)
		options = slices.DeleteFunc(options, func(set *nodeSet) bool { return set.room == nil })
		slices.SortStableFunc(options, func(x, y *nodeSet) int { return x.compare(y, a.Preemption.Budgets) })
		for _, set := range options {
			if a.stopLess(t, asks, set); set.compare(least, a.Preemption.Budgets) < 0 {
				least = set
			}
		}
	}
	return least.room, question.Placed
}

// stopLess looks for room in a set where groups stop for which fewer do, or others.
func (a *Attempts) stopLess(t preemptor.Trigger, asks []*ledger.Request, set *nodeSet) {
	if len(set.least.Stops) == 0 {
		return
	}
	better := func(spares func(string) bool) bool {
		other, _ := a.roomSparing(t, asks, set.shares, spares)
		if other == nil || other.cost.compare(&set.least, a.Preemption.Budgets) >= 0 {
			return false
		}
		set.room, set.least = other, other.cost
		return true
	}
	all := func(string) bool { return true }
	lacking := a.lacks(t, set.shares, a.allBut(all))
	if len(lacking) == 0 && better(all) {
		return
	}
	avoided := map[string]bool{}
	for _, name := range set.least.Stops[:min(len(set.least.Stops), insteadMax)] {
		avoided[name] = true
		spares := func(other string) bool { return avoided[other] }
		if !a.haveRoom(t, set.shares, a.allBut(spares)) || !better(spares) {
			delete(avoided, name)
		}
	}
	for _, g := range a.largestGroups() {
		if len(set.least.Stops) < 2 {
			break
		}
		if a.mayGive(g, t, lacking) {
			better(func(other string) bool { return other != g.of })
		}
	}
}

// roomSparing finds where room costs least if some groups do not stop.
func (a *Attempts) roomSparing(t preemptor.Trigger, asks []*ledger.Request, shares []share, spares func(string) bool) (*GroupRoom, question.Outcome) {
	if a.Costs.Remaining <= 0 {
		return nil, question.Busy
	}
	s := a.search(t, shares, spares)
	if !s.place(asks) {
		return nil, s.over
	}
	if s.found.isThere() {
		return nil, question.Waits // what keeps the asks from it is not for evictions to mend
	}
	return &s.found, question.Placed
}

// A stopping is what stops as one: a group, or a part of it.
type stopping struct {
	minimum
	in *ledger.Group
}

// largestGroups are those groups, and parts of groups, of which most members stay: one of them may stop instead of several others.
func (a *Attempts) largestGroups() (list []stopping) {
	for _, g := range a.Together {
		seen := map[minimum]bool{}
		for r := range g.Running {
			m := minimumOf(r)
			if !seen[m] && m.stay > 0 && m.of != "" {
				seen[m] = true
				list = append(list, stopping{m, g})
			}
			if m.of == g.Name {
				break // nothing of it is larger
			}
		}
	}
	slices.SortFunc(list, func(a, b stopping) int {
		return cmp.Or(cmp.Compare(b.stay, a.stay), cmp.Compare(a.of, b.of))
	})
	return list[:min(len(list), insteadMax)]
}

// MakeGroupRoom nominates asks to the nodes where room is made for them, and has the victims evicted.
func (a *Attempts) MakeGroupRoom(room *GroupRoom) {
	for i := range room.places {
		p := &room.places[i]
		p.Ask.Waiting().Plans(p.Plan, a.Now)
		a.Kept.nominate(p.Ask, p.Node, p.Plan)
	}
	for i := range room.places {
		p := &room.places[i]
		a.evictFor(p.Ask, p.Plan)
	}
	for i := range room.places {
		p := &room.places[i]
		a.Changes.Node(p.Node, ledger.NodeYields)
		a.Kept.SettleQuota(p.Ask)
		a.Kept.Settle(p.Node)
	}
}

// evictFor has the victims of a plan for an ask evicted.
func (a *Attempts) evictFor(r *ledger.Request, plan *preemptor.Decision) {
	for i := range plan.Victims {
		v := &plan.Victims[i]
		if v.Priority == r.Priority && plan.Trigger == preemptor.Priority {
			a.Kept.TakesEqual(r)
		}
		a.Evictions.RequestFor(v, r, plan)
	}
	a.countRoom(r, plan)
}
