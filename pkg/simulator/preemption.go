package simulator

import (
	"maps"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
)

// A step is what the core did about preemption in one step.
type step struct {
	// chosen are the victims of nominations, until their eviction is requested. Their
	// plans are kept at once; those of all others are looked up in a view.
	chosen  map[api.AllocationKey]bool
	evicted []*api.EvictionRequested // the others
	from    map[string]*queueBook    // of those, by key; nil for foreign ones
	failed  []api.AllocationKey      // asks of daemonsets for which no room can be made
	overMax []api.QueuePath          // queues over their max, each with a new plan
}

// evict notes a requested eviction. A foreign pod has no queue.
func (s *step) evict(e *api.EvictionRequested, from *queueBook) {
	if s.chosen[e.Key] {
		delete(s.chosen, e.Key)
		return
	}
	s.evicted = append(s.evicted, e)
	s.from[string(e.Key)] = from
}

// exceed notes a queue over its max.
func (s *step) exceed(queue api.QueuePath) {
	if !slices.Contains(s.overMax, queue) {
		s.overMax = append(s.overMax, queue)
	}
}

// needsPlans reports whether there are plans to be looked up.
func (s *step) needsPlans() bool { return len(s.evicted)+len(s.failed)+len(s.overMax) > 0 }

// clear makes room for the next step. Chosen is empty by then.
func (s *step) clear() {
	clear(s.from)
	clear(s.evicted)
	s.evicted, s.failed, s.overMax = s.evicted[:0], s.failed[:0], s.overMax[:0]
}

// preemption is what the core does to make room, as the resource manager sees it.
type preemption struct {
	*simulation
	pods    *pods
	foreign *foreignPods
	nodes   *nodes
	// step is what the core did in the step under way.
	step step
}

// evictionRequested ends a pod or a foreign pod because the core wants its room.
func (pr *preemption) evictionRequested(e *api.EvictionRequested) {
	f, p := pr.foreign.byKey[e.Key], pr.pods.byKey[e.Key]
	switch {
	case e.IsForeign() && f != nil:
		pr.preemptForeign(f, e)
	case !e.IsForeign() && p != nil:
		pr.preempt(p, e)
	default: // it is gone, and the core hears of that next
		delete(pr.step.chosen, e.Key)
	}
}

// preempt ends a pod because the core wants its room. One that is over already has
// its release on the way.
func (pr *preemption) preempt(p *pod, e *api.EvictionRequested) {
	if p.releasing {
		pr.breach("the pod %s was evicted twice", p.key)
		return
	}
	pr.step.evict(e, p.app.queue)
	if p.state == waiting { // it could not be bound, and the core hears of that next
		return
	}
	p.releasing = true
	pr.books.change(pr.books.releasing, 1)
	if p.state == over {
		return
	}
	if p.stubborn {
		pr.pods.budgets.markDown(p)
		return
	}
	p.count(func(n *podCounts) { n.preempted++ })
	pr.counts.preemption.ran += pr.clock().Sub(e.Placed)
	pr.pods.evict(p, si.TerminationType_PREEMPTED_BY_SCHEDULER)
}

// preemptForeign ends a foreign pod because the core wants its room.
func (pr *preemption) preemptForeign(p *foreignPod, e *api.EvictionRequested) {
	switch {
	case p.Static:
		pr.breach("the static pod %s was evicted", p.key)
		return
	case p.releasing:
		pr.breach("the foreign pod %s was evicted twice", p.key)
		return
	}
	pr.step.evict(e, nil)
	p.releasing = true
	pr.books.change(pr.books.releasing, 1)
	if p.gone {
		return
	}
	p.gone = true
	pr.counts.foreignPreempted++
	pr.confirm(0, func() { pr.foreign.release(p) })
}

// nominated takes in that a pod is nominated to a node. Only a pod that waits and is
// not nominated yet may be.
func (pr *preemption) nominated(e *api.Claimed) {
	p, n := pr.pods.byKey[e.Key], pr.nodes.byID[e.Node]
	switch {
	case p == nil || p.state != waiting:
		pr.breach("the pod %s was nominated to %s and does not wait", e.Key, e.Node)
	case n == nil || !n.up:
		pr.breach("the pod %s was nominated to %s, which is not there", e.Key, e.Node)
	case p.required != "":
		pr.breach("the pod %s was nominated to %s and may run on %s only", e.Key, e.Node, p.required)
	case p.nominated != "":
		pr.breach("the pod %s was nominated to %s while %s makes room for it", e.Key, e.Node, p.nominated)
	default:
		pr.pods.nominate(p, e.Node)
		pr.counts.preemption.of(e.Plan.Trigger).nominated++
		for _, v := range e.Plan.Victims {
			pr.step.chosen[api.AllocationKey(v.Key)] = true
			pr.count(e.Plan.Trigger, p.app.queue.path, pr.queueOf(v.Key))
		}
		pr.keepFor(p, e.Plan, e.Node)
	}
}

// nominationEnded takes in that a pod is nominated no more. That of a pod that was
// placed or taken back ends with it here. A pod that was taken back may still lose
// its nomination in the core, which learns of it later.
func (pr *preemption) nominationEnded(e *api.ClaimEnded) {
	p := pr.pods.byKey[e.Key]
	switch {
	case p == nil || p.nominated == "":
	case p.nominated != e.Node:
		pr.breach("the nomination of the pod %s to %s ended while %s makes room for it", e.Key, e.Node, p.nominated)
	case e.Waits():
		pr.counts.preemption.of(p.plan.Trigger).cleared++
		pr.pods.unnominate(p)
	}
}

// wasted takes in that victims ended and their room is not used. They must have ended, which those that
// could not be bound have, too: they may run again.
func (pr *preemption) wasted(e *outcomes.VictimsWasted) {
	for _, key := range e.Victims {
		if p := pr.pods.byKey[key]; p != nil && p.state != over && !p.unbound {
			pr.breach("the pod %s is wasted, and has not ended", key)
		}
	}
	if p := pr.pods.byKey[e.For]; p != nil && p.on == e.Node && (p.state == starting || p.state == running) && e.Cause != outcomes.NotBound {
		pr.breach("victims for the pod %s are wasted, by %s, and it runs on %s", e.For, e.Cause, e.Node)
	}
}

// checkChosen checks that the evictions of all victims of nominations have been
// requested.
func (pr *preemption) checkChosen() {
	for _, key := range slices.Sorted(maps.Keys(pr.step.chosen)) {
		pr.breach("the pod %s was chosen to make room and was not evicted", key)
	}
}

// reported notes that no room can be made for a pod of a daemonset.
func (pr *preemption) reported(e *api.AskReport) {
	if p := pr.pods.byKey[e.Key]; p != nil && p.required != "" {
		pr.step.failed = append(pr.step.failed, p.key)
	}
}
