package simulator

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// plansMax is how many plans of a run are kept with their explanations. All are
// counted.
const plansMax = 10_000

// A planTally is the plans that led to something: to victims, to a nomination, or
// to a report that there is nobody.
type planTally struct {
	kept       []PlanRecord
	outcomes   map[string]int
	victims    map[victimKind]int
	taken      map[taking]int
	byTrigger  [preemptor.Triggers]triggerTally
	violations int
}

func newPlanTally() planTally {
	return planTally{outcomes: map[string]int{}, victims: map[victimKind]int{}, taken: map[taking]int{}}
}

// A triggerTally is what is counted by why room was made.
type triggerTally struct {
	plans, inVain                 int
	nominated, cleared, elsewhere int
	waits                         []time.Duration // of the pods that others went for
}

func (t *planTally) of(trigger preemptor.Trigger) *triggerTally { return &t.byTrigger[trigger] }

// A victimKind is what victims are counted by.
type victimKind struct {
	trigger  preemptor.Trigger
	class    preemptor.Class
	strategy preemptor.Strategy
}

// A taking is who took from whom, and why.
type taking struct {
	trigger  preemptor.Trigger
	by, from core.QueuePath // from is empty for foreign pods
}

// A planned is a plan with what it is for.
type planned struct {
	*preemptor.Decision
	ask   string         // or the queue that gives back
	queue core.QueuePath // of the ask
	node  core.NodeID    // empty where there is no ask
}

// takeDown keeps the plans of this step. It looks at a view only where there were
// any, and in it only at what they are about.
func (r *run) takeDown() {
	s, t := &r.step, &r.tally.preemption
	if s.asksForPlans() {
		view := r.partition.View()
		victims := r.victimsIn(view)
		for _, v := range victims {
			r.count(v)
		}
		for _, p := range r.askers(victims) {
			r.takeDownAsk(view, p)
		}
		for _, path := range s.givesBack {
			r.takeDownQueue(view, path)
		}
	}
	for _, p := range s.cleared {
		if p.plan != nil {
			t.of(p.plan.Trigger).cleared++
		}
	}
	clear(s.from)
	*s = step{
		told: s.told[:0], nominated: s.nominated[:0], cleared: s.cleared[:0],
		inVain: s.inVain[:0], givesBack: s.givesBack[:0], from: s.from,
	}
}

// victimsIn finds those who were told to go in this step, with whom they go for.
func (r *run) victimsIn(view *core.View) []core.Leaving {
	var list []core.Leaving
	for _, one := range r.step.told {
		i, ok := slices.BinarySearchFunc(view.Nodes, one.node, func(n *core.NodeView, id core.NodeID) int { return cmp.Compare(n.ID, id) })
		if !ok {
			continue
		}
		for _, l := range view.Nodes[i].Leaving {
			if l.Key == one.key {
				list = append(list, l)
			}
		}
	}
	return list
}

// askers lists the pods that room was made for in this step, or was not, each
// once.
func (r *run) askers(victims []core.Leaving) []*pod {
	s := &r.step
	var list []*pod
	seen := map[*pod]bool{nil: true}
	add := func(p *pod) {
		if !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	for _, p := range s.nominated {
		add(p)
	}
	for _, v := range victims {
		add(r.pods[v.For])
	}
	for _, key := range s.inVain {
		add(r.pods[key])
	}
	return list
}

// takeDownAsk keeps the plan for a pod.
func (r *run) takeDownAsk(view *core.View, p *pod) {
	_, ask := askIn(view, p)
	if ask == nil || ask.Plan == nil || !ask.Planned.Equal(r.time()) {
		return
	}
	p.plan = ask.Plan
	node := p.required
	if node == "" {
		node = ask.Nominated
		r.tally.preemption.of(ask.Plan.Trigger).nominated++
	}
	if p.plan.Reason == preemptor.Chosen {
		p.helped = true
	}
	r.keep(planned{Decision: p.plan, ask: string(p.key), queue: p.app.queue.path, node: node})
}

// takeDownQueue keeps the plan of a queue that gives back.
func (r *run) takeDownQueue(view *core.View, path core.QueuePath) {
	if q := queueIn(view.Root, path); q != nil && q.GivesBack != nil {
		r.keep(planned{Decision: q.GivesBack, ask: string(path), queue: path})
	}
}

// keep counts a plan and keeps it with its explanation.
func (r *run) keep(plan planned) {
	t := &r.tally.preemption
	t.outcomes[plan.Reason.String()]++
	t.violations += plan.Violations
	if len(plan.Victims) > 0 {
		t.of(plan.Trigger).plans++
	} else if plan.Trigger == preemptor.RequiredNode || plan.Trigger == preemptor.Quota {
		t.of(plan.Trigger).inVain++
	}
	for _, v := range plan.Victims {
		t.victims[victimKind{plan.Trigger, v.Class, plan.Strategy}]++
	}
	if len(t.kept) < plansMax {
		t.kept = append(t.kept, r.record(plan))
	}
}

// count books a victim. It is taken by the queue of the pod that it goes for, or
// by the one that gives back, which it is in.
func (r *run) count(l core.Leaving) {
	r.books.change(r.books.victims[l.Trigger], 1)
	took := taking{trigger: l.Trigger}
	from := r.step.from[string(l.Key)]
	if p := r.pods[l.For]; p != nil {
		took.by = p.app.queue.path
	}
	if from != nil {
		took.from = from.path
		from.count(func(n *podCounts) { n.told[l.Trigger]++ })
	}
	for q := from; q != nil && took.by == ""; q = q.parent {
		if slices.Contains(r.step.givesBack, q.path) {
			took.by = q.path
		}
	}
	r.tally.preemption.taken[took]++
}

// record is a plan as it is shown.
func (r *run) record(plan planned) PlanRecord {
	one := PlanRecord{
		At: seconds(r.now), Trigger: plan.Trigger.String(), Ask: plan.ask, Queue: string(plan.queue), Node: string(plan.node),
		Outcome: plan.Reason.String(), Verdict: plan.Verdict(r.scenario.Kinds), Victims: []PlanVictim{},
		Violations: plan.Violations, Explanation: strings.Split(plan.Explain(r.scenario.Kinds), "\n"),
	}
	if plan.Reason == preemptor.Chosen {
		one.Strategy = plan.Strategy.String()
	}
	for _, v := range plan.Victims {
		victim := PlanVictim{Key: v.Key, Class: v.Class.String(), Priority: v.Priority}
		if from := r.step.from[v.Key]; from != nil {
			victim.Queue = string(from.path)
		}
		one.Victims = append(one.Victims, victim)
	}
	return one
}

// queueIn finds a queue at or below another; nil if it is not there.
func queueIn(q *core.QueueView, path core.QueuePath) *core.QueueView {
	for q != nil && q.Path != path {
		i := slices.IndexFunc(q.Queues, func(child *core.QueueView) bool {
			return child.Path == path || strings.HasPrefix(string(path), string(child.Path)+".")
		})
		if i < 0 {
			return nil
		}
		q = q.Queues[i]
	}
	return q
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
