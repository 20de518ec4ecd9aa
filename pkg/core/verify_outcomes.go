package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// outcomes checks that every victim of an ask is in one set until it is decided, and
// that each is counted once.
func (v *verifier) outcomes() {
	o := &v.p.outcomes
	found := map[*victimSet][2]int{} // victims that are coming, and late
	listed := 0
	for _, n := range v.all {
		for r := range n.allOn {
			if e := r.eviction; e != nil && e.set != nil {
				count := found[e.set]
				if e.overdue {
					count[1]++
				} else {
					count[0]++
				}
				found[e.set] = count
			}
		}
		v.lost(n.details.read().lost, found)
		listed += len(n.details.read().lost)
	}
	v.p.root.visitLost(func(sets []*victimSet) {
		v.lost(sets, found)
		listed += len(sets)
	})
	if listed > o.listed { // nodes that are gone may list some, too
		v.breaks("nodes and queues list %d lost sets, counted %d", listed, o.listed)
	}
	for key, sets := range o.byAsk {
		for _, s := range sets {
			meet(found, s)
			if r := v.p.requests[key]; r == nil || s.use == served != (r.node != nil) || s.over {
				v.breaks("victims of %s are kept for %s: %d", s.ask, key, s.use)
			}
		}
	}
	for _, s := range o.dirty {
		meet(found, s)
	}
	var undecided uint64
	for s, count := range found {
		undecided += uint64(count[0] + count[1])
		if s.use != served {
			undecided += uint64(len(s.ended))
		}
		if count != [2]int{s.coming, s.late} {
			v.breaks("%d victims of %s are coming and %d late, counted %v", s.coming, s.ask, s.late, count)
		}
	}
	c := v.p.counts
	all := c.Victims.Total() - c.Victims.By(preemptor.Quota)
	if undecided != c.Undecided || c.Served+c.Wasted.Total()+c.Undecided != all {
		v.breaks("of %d victims for asks %d were served, %d wasted and %d are undecided, counted %d",
			all, c.Served, c.Wasted.Total(), c.Undecided, undecided)
	}
	if count := c.Wasted.By(OtherCause); count > 0 {
		v.breaks("%d victims were wasted, and it is not known why", count)
	}
}

// meet adds a set of which no victim has been met yet.
func meet(found map[*victimSet][2]int, s *victimSet) {
	if _, is := found[s]; !is {
		found[s] = [2]int{}
	}
}

// lost adds the sets of a list that are lost.
func (v *verifier) lost(sets []*victimSet, found map[*victimSet][2]int) {
	for i, s := range sets {
		meet(found, s)
		if s.use != lost || slices.Contains(sets[:i], s) {
			v.breaks("victims of %s are listed as lost: %d", s.ask, s.use)
		}
	}
}

// visitLost visits the lists of lost sets of a queue and of those below it.
func (q *queue) visitLost(visit func([]*victimSet)) {
	visit(q.lost)
	for _, child := range q.children {
		child.visitLost(visit)
	}
}
