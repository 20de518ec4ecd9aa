package simulator

import (
	"maps"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A step is what the core did about preemption in one step.
type step struct {
	// chosen are the victims of nominations, until their eviction is requested. Their
	// plans are kept at once; those of all others are looked up in a view.
	chosen  map[core.AllocationKey]bool
	evicted []*core.EvictionRequested // the others
	from    map[string]*queueBook     // of those, by key; nil for foreign ones
	failed  []core.AllocationKey      // asks of daemonsets for which no room can be made
	overMax []core.QueuePath          // queues over their max, each with a new plan
}

// evict notes a requested eviction. A foreign pod has no queue.
func (s *step) evict(e *core.EvictionRequested, from *queueBook) {
	if s.chosen[e.Key] {
		delete(s.chosen, e.Key)
		return
	}
	s.evicted = append(s.evicted, e)
	s.from[string(e.Key)] = from
}

// needsPlans reports whether there are plans to be looked up.
func (s *step) needsPlans() bool { return len(s.evicted)+len(s.failed)+len(s.overMax) > 0 }

// clear makes room for the next step. Chosen is empty by then.
func (s *step) clear() {
	clear(s.from)
	clear(s.evicted)
	s.evicted, s.failed, s.overMax = s.evicted[:0], s.failed[:0], s.overMax[:0]
}

// evictionRequested ends a pod or a foreign pod because the core wants its room.
func (c *cluster) evictionRequested(e *core.EvictionRequested) {
	if e.IsForeign() {
		if f := c.foreignPods[e.Key]; f != nil {
			c.preemptForeign(f, e)
		}
		return
	}
	if p := c.pods[e.Key]; p != nil {
		c.preempt(p, e)
	}
}

// preempt ends a pod because the core wants its room. One that is over already has
// its release on the way.
func (c *cluster) preempt(p *pod, e *core.EvictionRequested) {
	if p.releasing {
		c.breach("the pod %s was evicted twice", p.key)
		return
	}
	c.step.evict(e, p.app.queue)
	p.releasing = true
	c.books.change(c.books.releasing, 1)
	if p.state == over {
		return
	}
	if p.stubborn {
		c.markDown(p)
		return
	}
	p.app.queue.count(func(n *podCounts) { n.preempted++ })
	c.evict(p, si.TerminationType_PREEMPTED_BY_SCHEDULER)
}

// preemptForeign ends a foreign pod because the core wants its room.
func (c *cluster) preemptForeign(p *foreignPod, e *core.EvictionRequested) {
	switch {
	case p.Static:
		c.breach("the static pod %s was evicted", p.key)
		return
	case p.releasing:
		c.breach("the foreign pod %s was evicted twice", p.key)
		return
	}
	c.step.evict(e, nil)
	p.releasing = true
	c.books.change(c.books.releasing, 1)
	if p.gone {
		return
	}
	p.gone = true
	c.tally.foreignPreempted++
	c.confirm(0, func() { c.releaseForeign(p) })
}

// endForeignEviction ends the eviction of a foreign pod.
func (c *cluster) endForeignEviction(p *foreignPod) {
	if p.releasing {
		p.releasing = false
		c.books.change(c.books.releasing, -1)
	}
}

// nominated takes in that a pod is nominated to a node. Only a pod that waits and is
// not nominated yet may be.
func (c *cluster) nominated(e *core.Nominated) {
	p, n := c.pods[e.Key], c.nodes[e.Node]
	switch {
	case p == nil || p.state != waiting:
		c.breach("the pod %s was nominated to %s and does not wait", e.Key, e.Node)
	case n == nil || !n.up:
		c.breach("the pod %s was nominated to %s, which is not there", e.Key, e.Node)
	case p.required != "":
		c.breach("the pod %s was nominated to %s and may run on %s only", e.Key, e.Node, p.required)
	case p.nominated != "":
		c.breach("the pod %s was nominated to %s while %s makes room for it", e.Key, e.Node, p.nominated)
	case e.Plan == nil:
		c.breach("the pod %s was nominated to %s without a plan", e.Key, e.Node)
	default:
		p.nominated = e.Node
		c.books.change(c.books.nominated, 1)
		c.tally.preemption.of(e.Plan.Trigger).nominated++
		for _, v := range e.Plan.Victims {
			c.step.chosen[core.AllocationKey(v.Key)] = true
			c.count(e.Plan.Trigger, p.app.queue.path, c.queueOf(v.Key))
		}
		c.keepFor(p, e.Plan, e.Node)
	}
}

// nominationEnded takes in that a pod is nominated no more. That of a pod that was
// placed or taken back ends with it here. A pod that was taken back may still lose
// its nomination in the core, which learns of it later.
func (c *cluster) nominationEnded(e *core.NominationEnded) {
	p := c.pods[e.Key]
	switch {
	case p == nil || p.nominated == "":
	case p.nominated != e.Node:
		c.breach("the nomination of the pod %s to %s ended while %s makes room for it", e.Key, e.Node, p.nominated)
	case e.Waits:
		c.tally.preemption.of(p.plan.Trigger).cleared++
		c.unnominate(p)
	}
}

// checkChosen checks that the evictions of all victims of nominations have been
// requested.
func (c *cluster) checkChosen() {
	for _, key := range slices.Sorted(maps.Keys(c.step.chosen)) {
		c.breach("the pod %s was chosen to make room and was not evicted", key)
	}
}

// arrived ends the nomination of a pod that was placed, there or elsewhere.
func (c *cluster) arrived(p *pod, on core.NodeID) {
	if p.nominated != "" && p.nominated != on {
		c.tally.preemption.of(p.plan.Trigger).elsewhere++
	}
	c.unnominate(p)
}

func (c *cluster) unnominate(p *pod) {
	if p.nominated != "" {
		p.nominated = ""
		c.books.change(c.books.nominated, -1)
	}
}

// reported notes that no room can be made for a pod of a daemonset.
func (c *cluster) reported(e *core.AskReport) {
	if p := c.pods[e.Key]; p != nil && p.required != "" {
		c.step.failed = append(c.step.failed, p.key)
	}
}
