package core_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// lawful watches a partition while it schedules, and says which law of
// preemption is broken:
//
//	victims of priority are less important than the ask, seen from where the queues meet
//	with the victims gone the ask fits beside those nominated before it, and it
//	does not if any one of them stays
//	nobody is told to go twice
//	an ask is nominated to one node at most, and to none once it runs
//	who is placed leaves the room of those nominated who come before
//	no queue falls below what is guaranteed to it, or below what it had
//	no room is made on nodes that are cordoned, kept for asks that may run there
//	only, or where somebody who was told to go does not
type lawful struct {
	p       *core.Partition
	config  core.Config
	advised bool // the resource manager, or a budget, has a say in who goes
	told    map[core.AllocationKey]time.Time
	deeds   []deed // of the last call
}

// schedule is one call of Schedule under watch.
func (l *lawful) schedule(now time.Time) (fx core.Effects, more bool, err error) {
	before := l.p.View()
	l.deeds = nil
	fx, more = l.p.Schedule(now)
	after := l.p.View()
	if !slices.ContainsFunc(fx, isDeed) {
		return fx, more, nil
	}
	w := worldOf(before, naive{})
	w.priority = l.config.Preemption.Priority
	w.giveUpOn(now, l.config.Preemption.VictimTimeout)
	for key := range l.told {
		if !w.leaves(key) {
			delete(l.told, key) // it has gone, and may come again
		}
	}
	if l.deeds, err = deedsFor(fx, after); err != nil {
		return fx, more, err
	}
	for _, d := range l.deeds {
		if err := l.judge(w, d, now); err != nil {
			return fx, more, fmt.Errorf("%v: %w", d, err)
		}
		w.do(d)
	}
	return fx, more, nominatedOnce(after)
}

func isDeed(e core.Event) bool {
	switch e := e.(type) {
	case core.Placed, *core.EvictionRequested, *core.Nominated:
		return true
	case *core.NominationEnded:
		return e.Waits
	}
	return false
}

// deedsFor reads effects of every trigger. Whom victims go for is what the view
// says of them afterwards.
func deedsFor(fx core.Effects, after *core.View) (list []deed, err error) {
	leaving := map[core.AllocationKey]core.Eviction{}
	for _, n := range after.Nodes {
		for _, l := range n.Evictions {
			leaving[l.Key] = l
		}
	}
	for _, e := range fx {
		release, is := e.(*core.EvictionRequested)
		if !is {
			more, _ := deedsOf(core.Effects{e})
			list = append(list, more...)
			continue
		}
		key, last := release.Key, len(list)-1
		gone, known := leaving[key]
		switch {
		case !known:
			return nil, fmt.Errorf("%s is released and does not leave", key)
		case gone.Trigger == preemptor.RequiredNode || gone.Trigger == preemptor.Quota:
			list = append(list, deed{what: "end", victims: []core.AllocationKey{key}, by: gone.Trigger})
		case last < 0 || list[last].what != "nominate" || list[last].key != gone.For || list[last].by != gone.Trigger:
			return nil, fmt.Errorf("%s goes for %s by %s, which was not nominated before", key, gone.For, gone.Trigger)
		default:
			list[last].victims = append(list[last].victims, key)
		}
	}
	return list, nil
}

// judge checks one deed before it is done.
func (l *lawful) judge(w *world, d deed, now time.Time) error {
	for _, key := range d.victims {
		if at, twice := l.told[key]; twice {
			return fmt.Errorf("%s was told to go at %v already", key, at)
		}
		l.told[key] = now
	}
	switch d.what {
	case "place":
		return l.judgePlace(w, w.ask(d.key), w.nodes[d.node])
	case "nominate":
		return l.judgeNomination(oracle{world: w, ask: w.ask(d.key)}, d)
	}
	return nil
}

// judgePlace sees that an ask fits beside those who come before, on the node and
// in its queues.
func (l *lawful) judgePlace(w *world, ask *core.AskView, n *core.NodeView) error {
	room := n.Available.Clone()
	for _, key := range n.Nominated {
		other := w.ask(key)
		before := w.holds(other) >= w.standing(ask)
		switch {
		case ask.Required != "":
			before = other.Priority > ask.Priority
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

// judgeNomination sees that the victims of a nomination may go, are enough and
// are all needed.
func (l *lawful) judgeNomination(o oracle, d deed) error {
	n, quota := o.nodes[d.node], o.quotaToFree(o.ask)
	need := o.need(n)
	enough := func(spared core.AllocationKey) bool {
		var here, all resources.Amounts
		for _, key := range d.victims {
			a := o.allocation(key)
			if key == spared {
				continue
			}
			if all.Add(a.Amounts); a.Node == n.ID {
				here.Add(a.Amounts)
			}
		}
		return need.FitsIn(here) && quota.FitsIn(all)
	}
	if err := l.judgeNode(o, n); err != nil {
		return err
	}
	if !enough("") {
		return fmt.Errorf("they do not hold %v and %v of quota", need, quota)
	}
	var gone []*core.Allocation
	for _, key := range d.victims {
		a := o.allocation(key)
		gone = append(gone, a)
		above, own := o.above(a), o.queueOf(a) == o.queueOf(o.ask.Allocation)
		switch {
		case !l.advised && enough(key):
			return fmt.Errorf("%s could stay", key)
		case d.by == preemptor.Priority && (above > 0 || above == 0 && l.config.Preemption.Priority != core.EqualToo),
			d.by == preemptor.Guarantee && (above > 0 || own):
			return fmt.Errorf("%s is not to go for it", key)
		}
	}
	if !o.keepsFloors(gone) {
		return fmt.Errorf("a queue falls below what is guaranteed to it")
	}
	return nil
}

// judgeNode sees that room may be made on a node at all.
func (l *lawful) judgeNode(o oracle, n *core.NodeView) error {
	if !n.Schedulable {
		return fmt.Errorf("the node takes nothing new")
	}
	for _, held := range n.Reservations {
		if held.Required && !l.advised && o.world.ask(held.Key) != nil {
			return fmt.Errorf("the node is kept for %s", held.Key)
		}
	}
	for _, leaving := range n.Evictions {
		if leaving.Overdue {
			return fmt.Errorf("%s was told to go there and does not", leaving.Key)
		}
	}
	return nil
}

// nominatedOnce sees that nodes and asks agree on who is nominated where.
func nominatedOnce(v *core.View) error {
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
