package core_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A lawChecker watches a partition while it schedules, and says which law of
// preemption is broken:
//
//	victims of priority are less important than the ask, seen from where the queues meet
//	with the victims gone the ask fits beside those nominated before it, and it
//	does not if any one of them stays
//	no eviction is requested twice
//	an ask is nominated to one node at most, and to none once it runs
//	a placed ask leaves the room of the nominated asks that come before it
//	no queue falls below what is guaranteed to it, or below what it had
//	no room is made on nodes that are cordoned, kept for asks that may run there
//	only, or where an eviction is overdue
type lawChecker struct {
	p         *core.Partition
	config    api.Config
	advised   bool // the resource manager, or a budget, has a say in the choice of victims
	evictedAt map[api.AllocationKey]time.Time
	actions   []action // of the last call
}

// schedule is one call of Schedule under watch.
func (l *lawChecker) schedule(now time.Time) (fx api.Effects, more bool, err error) {
	before := l.p.View()
	l.actions = nil
	fx, more = l.p.Schedule(now)
	after := l.p.View()
	if err := failuresAreTold(fx, before, after); err != nil {
		return fx, more, err
	}
	if !slices.ContainsFunc(fx, isAction) {
		return fx, more, nil
	}
	w := worldOf(before, naive{})
	w.priority = l.config.Preemption.Priority
	w.markOverdue(now, l.config.Preemption.VictimTimeout)
	w.promise(after)
	for key := range l.evictedAt {
		if !w.isEvicted(key) {
			delete(l.evictedAt, key) // it has ended, and may come again
		}
	}
	if l.actions, err = actionsWithVictims(fx, after); err != nil {
		return fx, more, err
	}
	for _, d := range l.actions {
		if len(d.victims) > 0 && d.what != "dismiss" && before.SettlesAt.After(now) {
			return fx, more, fmt.Errorf("%v: evicted before %v", d, before.SettlesAt)
		}
		harmless := d.what == "nominate" && len(d.victims) == 0 && losesClaim(fx, d.key) // to a more important one
		if err := l.check(w, d, now); err != nil && !harmless {
			return fx, more, fmt.Errorf("%v: %w", d, err)
		}
		w.do(d)
	}
	return fx, more, nominatedOnce(after)
}

// failuresAreTold reports attempts of which nothing came and that tell of room.
func failuresAreTold(fx api.Effects, before, after *api.View) error {
	known := map[*preemptor.Decision]bool{}
	for _, app := range before.Applications {
		for _, ask := range app.Asks {
			for _, attempt := range ask.Attempts {
				known[attempt.Plan] = true
			}
		}
	}
	nominated := map[api.AllocationKey]bool{}
	for _, e := range fx {
		if n, is := e.(*api.Claimed); is && n.Plan != nil {
			nominated[n.Allocation.Key] = true
		}
	}
	for _, app := range after.Applications {
		for _, ask := range app.Asks {
			for _, attempt := range ask.Attempts {
				if !known[attempt.Plan] && !nominated[ask.Key] && attempt.Plan != nil && attempt.Plan.Cost.Feasible() {
					return fmt.Errorf("%s: an attempt failed and says %v on %s", ask.Key, attempt.Plan.Reason, attempt.Node)
				}
			}
		}
	}
	return nil
}

func isAction(e api.Event) bool {
	switch e := e.(type) {
	case api.Placed, *api.EvictionRequested:
		return true
	case *api.Claimed:
		return e.Plan != nil
	case *api.ReleaseRequested:
		return isDismissal(e)
	case *api.ClaimEnded:
		return e.End != api.EndPlaced || !e.Nominated
	}
	return false
}

// losesClaim reports whether a claim of an ask ends without a placement.
func losesClaim(fx api.Effects, key api.AllocationKey) bool {
	return slices.ContainsFunc(fx, func(e api.Event) bool {
		ended, is := e.(*api.ClaimEnded)
		return is && ended.Allocation.Key == key && ended.End != api.EndPlaced
	})
}

// isDismissal reports whether a placeholder is to end whose place no ask takes. Its room
// is counted on like that of a victim.
func isDismissal(e *api.ReleaseRequested) bool {
	return e.Cause == api.CauseTimedOut && e.Node != ""
}

// actionsWithVictims reads effects of every trigger. For which ask a victim is evicted
// is what the view says afterwards.
func actionsWithVictims(fx api.Effects, after *api.View) (list []action, err error) {
	leaving := map[api.AllocationKey]api.Eviction{}
	for _, n := range after.Nodes {
		for _, l := range n.Evictions {
			leaving[l.Key] = l
		}
	}
	for _, e := range fx {
		if e, is := e.(*api.ReleaseRequested); is && isDismissal(e) {
			list = append(list, action{what: "dismiss", victims: []api.AllocationKey{e.Key}})
			continue
		}
		release, is := e.(*api.EvictionRequested)
		if !is {
			more, _ := actionsOf(api.Effects{e})
			list = append(list, more...)
			continue
		}
		key, last := release.Key, len(list)-1
		gone, known := leaving[key]
		switch {
		case !known:
			return nil, fmt.Errorf("%s is to be evicted and the view does not say so", key)
		case gone.Trigger == preemptor.RequiredNode || gone.Trigger == preemptor.Quota:
			list = append(list, action{what: "end", victims: []api.AllocationKey{key}, by: gone.Trigger})
		case last < 0 || list[last].what != "nominate" || list[last].key != gone.For || list[last].by != gone.Trigger:
			return nil, fmt.Errorf("%s is evicted for %s by %s, which was not nominated before", key, gone.For, gone.Trigger)
		default:
			list[last].victims = append(list[last].victims, key)
		}
	}
	return list, nil
}

// check checks one action before it is done.
func (l *lawChecker) check(w *world, d action, now time.Time) error {
	for _, key := range d.victims {
		if at, twice := l.evictedAt[key]; twice {
			return fmt.Errorf("the eviction of %s was requested at %v already", key, at)
		}
		l.evictedAt[key] = now
	}
	switch d.what {
	case "place":
		return l.checkPlace(w, w.ask(d.key), w.nodes[d.node])
	case "nominate":
		return l.checkNomination(oracle{world: w, ask: w.ask(d.key)}, d)
	}
	return nil
}

// checkPlace sees that an ask fits beside those that come before it, on the node and
// in its queues.
func (l *lawChecker) checkPlace(w *world, ask *api.AskView, n *api.NodeView) error {
	room := n.Available.Clone()
	for _, key := range n.Nominated {
		other := w.ask(key)
		before := w.keepsFrom(other, ask)
		switch {
		case ask.Required != "":
			before = w.rootPriority(other) > w.rootPriority(ask)
		case ask.Nominated == n.ID:
			before = w.before(other, ask) < 0
		}
		if before {
			room.Sub(other.Amounts)
		}
	}
	if !ask.Amounts.FitsIn(room) {
		return fmt.Errorf("asks for %v and there is only %v beside those before it", ask.Amounts, room)
	}
	for _, q := range w.upFrom(w.queueOf(ask.Allocation)) {
		if !q.Max.Room(q.Used, ask.Amounts) {
			return fmt.Errorf("queue %s uses %v and has no room for %v", q.Path, q.Used, ask.Amounts)
		}
	}
	return nil
}

// checkNomination sees that the victims of a nomination may be evicted, are enough and
// are all needed.
func (l *lawChecker) checkNomination(o oracle, d action) error {
	n := o.nodes[d.node]
	need := o.need(n)
	enough := func(spared api.AllocationKey) bool {
		var here resources.Amounts
		var all []*api.Allocation
		for _, key := range d.victims {
			a := o.allocation(key)
			if key == spared {
				continue
			}
			if all = append(all, a); a.Node == n.ID {
				here.Add(a.Amounts)
			}
		}
		return need.FitsIn(here) && o.freesQuota(o.ask, all)
	}
	if err := l.checkNode(o, n); err != nil {
		return err
	}
	if !enough("") {
		return fmt.Errorf("they do not hold %v and %v of quota", need, o.quotaToFree(o.ask))
	}
	var gone []*api.Allocation
	for _, key := range d.victims {
		a := o.allocation(key)
		gone = append(gone, a)
		above, own := o.above(a), o.queueOf(a) == o.queueOf(o.ask.Allocation)
		switch {
		case !l.advised && enough(key):
			return fmt.Errorf("%s could stay", key)
		case d.by == preemptor.Priority && (above > 0 || above == 0 && (l.config.Preemption.Priority != api.EqualToo || a.Settled)),
			d.by == preemptor.Guarantee && (above > 0 || own):
			return fmt.Errorf("%s may not be evicted for it", key)
		}
	}
	if !o.keepsFloors(gone) {
		return fmt.Errorf("a queue falls below what is guaranteed to it")
	}
	return nil
}

// checkNode sees that room may be made on a node at all.
func (l *lawChecker) checkNode(o oracle, n *api.NodeView) error {
	if !n.Schedulable {
		return fmt.Errorf("the node takes nothing new")
	}
	for _, held := range n.Reservations {
		other := o.world.ask(held.Key)
		if held.Required && !l.advised && other != nil && o.keepsFrom(other, o.ask) {
			return fmt.Errorf("the node is kept for %s", held.Key)
		}
	}
	for _, leaving := range n.Evictions {
		if leaving.Overdue && leaving.BlocksUntil.After(o.world.now) {
			return fmt.Errorf("the eviction of %s there is overdue", leaving.Key)
		}
	}
	return nil
}

// nominatedOnce sees that nodes and asks agree on which ask is nominated where.
func nominatedOnce(v *api.View) error {
	w := worldOf(v, naive{})
	count := 0
	for _, n := range v.Nodes {
		for _, key := range n.Nominated {
			if ask := w.ask(key); ask == nil || ask.Nominated != n.ID {
				return fmt.Errorf("%s is nominated to %s and does not wait for it", key, n.ID)
			}
			count++
		}
	}
	for _, app := range v.Applications {
		for _, ask := range app.Asks {
			if ask.Nominated != "" {
				count--
			}
		}
	}
	if count != 0 {
		return fmt.Errorf("%d nominations are known to one side only", count)
	}
	return nil
}
