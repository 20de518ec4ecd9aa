package simulator

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
)

// plansMax is how many plans of a run are kept with their explanations. All are
// counted.
const plansMax = 10_000

// planCounts are the plans that led to something: to victims, to a nomination, or
// to a report that no room can be made.
type planCounts struct {
	kept       []PlanRecord
	outcomes   map[string]int
	ran        time.Duration // victims of this scheduler, together
	victims    map[victimKind]int
	byQueue    map[queuePair]int
	byTrigger  [preemptor.Triggers]triggerCounts
	violations int
}

func newPlanCounts() planCounts {
	return planCounts{outcomes: map[string]int{}, victims: map[victimKind]int{}, byQueue: map[queuePair]int{}}
}

// triggerCounts are what is counted of one reason why room was made.
type triggerCounts struct {
	plans, failed                 int
	nominated, cleared, elsewhere int
	waits                         []time.Duration // of the pods with victims
}

func (t *planCounts) of(trigger preemptor.Trigger) *triggerCounts { return &t.byTrigger[trigger] }

// A victimKind is what victims are counted by.
type victimKind struct {
	trigger  preemptor.Trigger
	class    preemptor.Class
	strategy preemptor.Strategy
}

// A queuePair is the queue that got the room of victims, the queue that they were in,
// and why.
type queuePair struct {
	trigger  preemptor.Trigger
	by, from api.QueuePath // from is empty for foreign pods
}

// A purpose is a plan with what it is for.
type purpose struct {
	*preemptor.Decision
	ask   string        // or the queue over its max
	queue api.QueuePath // of the ask
	node  api.NodeID    // empty where there is no ask
}

// keepPlans keeps the plans of this step that belong to no nomination. It asks for a
// view only if there are any, and looks there only at what they are about.
func (pr *preemption) keepPlans(viewOf func() *api.View) {
	s := &pr.step
	if !s.needsPlans() {
		return
	}
	view := viewOf()
	for _, e := range s.evicted {
		pr.count(e.Trigger, pr.preemptorOf(e), s.from[string(e.Key)])
	}
	for _, p := range pr.planned() {
		_, ask := view.Ask(p.app.id, p.key)
		if ask != nil && ask.Plan != nil && ask.Planned.Equal(pr.clock()) {
			pr.keepFor(p, ask.Plan, p.required)
		}
	}
	for _, path := range s.overMax {
		if q := queueIn(view.Root, path); q != nil && q.QuotaPlan != nil {
			pr.keep(purpose{Decision: q.QuotaPlan, ask: string(path), queue: path})
		}
	}
	s.clear()
}

// planned lists the pods of daemonsets that had plans in this step, each once:
// first those with victims, then those for which no room can be made.
func (pr *preemption) planned() []*pod {
	var list []*pod
	add := func(key api.AllocationKey) {
		if p := pr.pods.byKey[key]; p != nil && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, e := range pr.step.evicted {
		add(e.For)
	}
	for _, key := range pr.step.failed {
		add(key)
	}
	return list
}

// preemptorOf is the queue that gets the room of a victim: that of the ask, or the
// queue over its max, which the victim is in.
func (pr *preemption) preemptorOf(e *api.EvictionRequested) api.QueuePath {
	if p := pr.pods.byKey[e.For]; p != nil {
		return p.app.queue.path
	}
	for q := pr.step.from[string(e.Key)]; q != nil; q = q.parent {
		if slices.Contains(pr.step.overMax, q.path) {
			return q.path
		}
	}
	return ""
}

// queueOf is the queue of a victim; nil for a foreign pod.
func (pr *preemption) queueOf(key string) *queueBook {
	if from := pr.step.from[key]; from != nil {
		return from // it may have ended already
	}
	if p := pr.pods.byKey[api.AllocationKey(key)]; p != nil {
		return p.app.queue
	}
	return nil
}

// keepFor keeps the plan for a pod.
func (pr *preemption) keepFor(p *pod, plan *preemptor.Decision, node api.NodeID) {
	p.plan = plan
	p.helped = p.helped || plan.Reason == preemptor.Chosen
	pr.keep(purpose{Decision: plan, ask: string(p.key), queue: p.app.queue.path, node: node})
}

// keep counts a plan and keeps it with its explanation.
func (pr *preemption) keep(plan purpose) {
	t := &pr.counts.preemption
	t.outcomes[plan.Reason.String()]++
	t.violations += plan.Violations
	if len(plan.Victims) > 0 {
		t.of(plan.Trigger).plans++
	} else if plan.Trigger == preemptor.RequiredNode || plan.Trigger == preemptor.Quota {
		t.of(plan.Trigger).failed++
	}
	for _, v := range plan.Victims {
		t.victims[victimKind{plan.Trigger, v.Class, plan.Strategy}]++
	}
	if len(t.kept) < plansMax {
		t.kept = append(t.kept, pr.record(plan))
	}
}

// count counts a victim: the trigger, the queue that gets its room, and the queue that
// it was in; nil is a foreign pod.
func (pr *preemption) count(why preemptor.Trigger, by api.QueuePath, from *queueBook) {
	pr.books.change(pr.books.victims[why], 1)
	pair := queuePair{trigger: why, by: by}
	if from != nil {
		pair.from = from.path
		from.count(func(n *podCounts) { n.victims[why]++ })
	}
	pr.counts.preemption.byQueue[pair]++
}

// record is a plan as it is shown.
func (pr *preemption) record(plan purpose) PlanRecord {
	one := PlanRecord{
		At: seconds(pr.now), Trigger: plan.Trigger.String(), Ask: plan.ask, Queue: string(plan.queue), Node: string(plan.node),
		Outcome: plan.Reason.String(), Summary: planned.Summary(plan.Decision, pr.scenario.Kinds), Victims: []PlanVictim{},
		Violations: plan.Violations, Explanation: strings.Split(planned.Explain(plan.Decision, pr.scenario.Kinds), "\n"),
	}
	if plan.Reason == preemptor.Chosen {
		one.Strategy = plan.Strategy.String()
	}
	for _, v := range plan.Victims {
		victim := PlanVictim{Key: v.Key, Class: v.Class.String(), Priority: v.Priority}
		if from := pr.queueOf(v.Key); from != nil {
			victim.Queue = string(from.path)
		}
		one.Victims = append(one.Victims, victim)
	}
	return one
}

// queueIn finds a queue at or below another; nil if it is not there.
func queueIn(q *api.QueueView, path api.QueuePath) *api.QueueView {
	for q != nil && q.Path != path {
		q = q.Towards(path)
	}
	return q
}
