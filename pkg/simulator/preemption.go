package simulator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// plansMax is how many plans of a run are kept with their explanations. All are
// counted.
const plansMax = 10_000

// A planTally is the plans that led to something: to victims, or to a report that
// there are none.
type planTally struct {
	kept     []PlanRecord
	outcomes map[string]int
	victims  map[victimKind]int
}

// strategies are the columns of a table.
var strategies = []preemptor.Strategy{preemptor.Single, preemptor.Multiple, preemptor.Minimal}

func strategyRank(name string) int {
	return slices.IndexFunc(strategies, func(s preemptor.Strategy) bool { return s.String() == name })
}

// A victimKind is what victims are counted by.
type victimKind struct{ class, strategy string }

// preempt ends a pod because the core says so. One that is over already has its
// release on the way.
func (c *cluster) preempt(p *pod) {
	c.told(p.on)
	p.leaving = true
	c.books.change(c.books.leaving, 1)
	if p.state == over || p.stubborn {
		return
	}
	p.app.queue.count(func(n *podCounts) { n.preempted++ })
	c.evict(p, si.TerminationType_PREEMPTED_BY_SCHEDULER)
}

// preemptForeign ends a foreign pod because the core says so.
func (c *cluster) preemptForeign(p *foreignPod) {
	if p.Static {
		c.breach("the static pod %s was told to go", p.key)
		return
	}
	c.told(p.node.ID)
	p.leaving = true
	c.books.change(c.books.leaving, 1)
	if p.gone {
		return
	}
	p.gone = true
	c.tally.foreignPreempted++
	c.confirm(func() { c.forget(p) })
}

// leftForeign ends the wait for a foreign pod that was told to go.
func (c *cluster) leftForeign(p *foreignPod) {
	if p.leaving {
		p.leaving = false
		c.books.change(c.books.leaving, -1)
	}
}

// told counts a victim.
func (c *cluster) told(node core.NodeID) {
	c.books.change(c.books.victims, 1)
	c.toldToGo = append(c.toldToGo, node)
}

// recorded looks for the events that say that a plan found nobody.
func (c *cluster) recorded(e *si.EventRecord) {
	if e.Type == si.EventRecord_REQUEST && e.EventChangeType == si.EventRecord_NONE {
		if p := c.pods[core.AllocationKey(e.ObjectID)]; p != nil && p.required != "" {
			c.inVain = append(c.inVain, p.key)
		}
	}
}

// takeDown keeps the plans of this step. It looks at a view only where there were
// any, and in it only at what they are about.
func (r *run) takeDown() {
	if len(r.toldToGo)+len(r.inVain) == 0 {
		return
	}
	view, now := r.partition.View(), epoch.Add(r.now)
	var asks []core.AllocationKey
	seen := map[core.AllocationKey]bool{}
	for _, id := range r.toldToGo {
		i, ok := slices.BinarySearchFunc(view.Nodes, id, func(n *core.NodeView, id core.NodeID) int { return cmp.Compare(n.ID, id) })
		if !ok {
			continue
		}
		for _, l := range view.Nodes[i].Leaving {
			if l.Since.Equal(now) && !seen[l.For] {
				seen[l.For] = true
				asks = append(asks, l.For)
			}
		}
	}
	for _, key := range append(asks, r.inVain...) {
		if p := r.pods[key]; p != nil {
			if _, ask := askIn(view, p); ask != nil && ask.Plan != nil && ask.Planned.Equal(now) {
				r.keep(p, ask.Plan)
			}
		}
	}
	r.toldToGo, r.inVain = r.toldToGo[:0], r.inVain[:0]
}

// keep counts a plan and keeps it with its explanation.
func (r *run) keep(p *pod, plan *preemptor.Decision) {
	t := &r.tally.preemption
	if t.outcomes == nil {
		t.outcomes, t.victims = map[string]int{}, map[victimKind]int{}
	}
	t.outcomes[plan.Reason.String()]++
	one := PlanRecord{
		At: seconds(r.now), Ask: string(p.key), Node: string(p.required),
		Outcome: plan.Reason.String(), Verdict: plan.Verdict(r.scenario.Kinds), Victims: []PlanVictim{},
	}
	if plan.Reason == preemptor.Chosen {
		p.helped = true
		one.Strategy = plan.Strategy.String()
	}
	for _, v := range plan.Victims {
		t.victims[victimKind{v.Class.String(), one.Strategy}]++
		one.Victims = append(one.Victims, PlanVictim{Key: v.Key, Class: v.Class.String(), Priority: v.Priority})
	}
	if len(t.kept) < plansMax {
		one.Explanation = strings.Split(plan.Explain(r.scenario.Kinds), "\n")
		t.kept = append(t.kept, one)
	}
}

// askIn finds the ask of a pod in a view, and its application; nil if it does not
// wait.
func askIn(view *core.View, p *pod) (*core.ApplicationView, *core.AskView) {
	i, ok := slices.BinarySearchFunc(view.Applications, p.app.id, func(a *core.ApplicationView, id core.ApplicationID) int {
		return cmp.Compare(a.ID, id)
	})
	if !ok {
		return nil, nil
	}
	app := view.Applications[i]
	at, ok := slices.BinarySearchFunc(app.Asks, p.key, func(a core.AskView, key core.AllocationKey) int {
		return cmp.Compare(a.Key, key)
	})
	if !ok {
		return app, nil
	}
	return app, &app.Asks[at]
}

// preemptionOf sums up who made room for whom; nil if nobody was asked to.
func (r *run) preemptionOf(view *core.View) *Preemption {
	t := &r.tally.preemption
	if len(t.outcomes) == 0 {
		return nil
	}
	counts := view.Preempted
	p := &Preemption{
		Plans: t.outcomes, Victims: int(counts.ByTrigger[preemptor.RequiredNode]), Foreign: r.tally.foreignPreempted,
		Stuck: int(counts.Stuck), Reservations: int(counts.Reservations), ByKind: []VictimCount{},
		Waiting: waitsOf(r.tally.daemonWaits), Helped: waitsOf(r.tally.helpedWaits), Records: t.kept,
	}
	for _, n := range view.Nodes {
		p.Leaving += len(n.Leaving)
	}
	for class := range preemptor.Class(preemptor.Classes) {
		for _, strategy := range strategies {
			if n := t.victims[victimKind{class.String(), strategy.String()}]; n > 0 {
				p.ByKind = append(p.ByKind, VictimCount{Class: class.String(), Strategy: strategy.String(), Victims: n})
			}
		}
	}
	return p
}
