package simulator

import (
	"maps"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A step is what the core said in one step that has to do with preemption.
type step struct {
	// chosen are the victims of nominations, until they are told. Their plans are
	// kept when they are heard of; those of all others are looked up in a view.
	chosen    map[core.AllocationKey]bool
	told      []told                // the others
	from      map[string]*queueBook // of those, by key; nil for foreign ones
	inVain    []core.AllocationKey  // asks that nobody makes room for
	givesBack []core.QueuePath      // queues beyond their max
}

// A told is a pod that was told to go, and where.
type told struct {
	key  core.AllocationKey
	node core.NodeID
}

// victim notes that somebody was told to go. A foreign one has no queue.
func (s *step) victim(key core.AllocationKey, node core.NodeID, from *queueBook) {
	if s.chosen[key] {
		delete(s.chosen, key)
		return
	}
	s.told = append(s.told, told{key, node})
	s.from[string(key)] = from
}

// asksForPlans reports whether there are plans to be looked up.
func (s *step) asksForPlans() bool { return len(s.told)+len(s.inVain)+len(s.givesBack) > 0 }

// preempt ends a pod because the core says so. One that is over already has its
// release on the way.
func (c *cluster) preempt(p *pod) {
	if p.leaving {
		c.breach("the pod %s was told to go twice", p.key)
		return
	}
	c.step.victim(p.key, p.on, p.app.queue)
	p.leaving = true
	c.books.change(c.books.leaving, 1)
	if p.state == over {
		return
	}
	if p.stubborn {
		c.goDown(p)
		return
	}
	p.app.queue.count(func(n *podCounts) { n.preempted++ })
	c.evict(p, si.TerminationType_PREEMPTED_BY_SCHEDULER)
}

// preemptForeign ends a foreign pod because the core says so.
func (c *cluster) preemptForeign(p *foreignPod) {
	switch {
	case p.Static:
		c.breach("the static pod %s was told to go", p.key)
		return
	case p.leaving:
		c.breach("the foreign pod %s was told to go twice", p.key)
		return
	}
	c.step.victim(p.key, p.node.ID, nil)
	p.leaving = true
	c.books.change(c.books.leaving, 1)
	if p.gone {
		return
	}
	p.gone = true
	c.tally.foreignPreempted++
	c.confirm(0, func() { c.forget(p) })
}

// leftForeign ends the wait for a foreign pod that was told to go.
func (c *cluster) leftForeign(p *foreignPod) {
	if p.leaving {
		p.leaving = false
		c.books.change(c.books.leaving, -1)
	}
}

// nominated takes in that a pod has a node in view, or no more. Only a pod that
// waits may have one. A pod that was taken back may lose one still, as the core
// hears of that later.
func (c *cluster) nominated(e core.Nomination) {
	p := c.pods[e.Key]
	if e.Node == "" {
		if p != nil && p.nominated != "" {
			c.tally.preemption.of(p.plan.Trigger).cleared++
			c.unnominate(p)
		}
		return
	}
	n := c.nodes[e.Node]
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
		c.books.change(c.books.nominees, 1)
		c.tally.preemption.of(e.Plan.Trigger).nominated++
		for _, v := range e.Plan.Victims {
			c.step.chosen[core.AllocationKey(v.Key)] = true
			c.count(e.Plan.Trigger, p.app.queue.path, c.queueOf(v.Key))
		}
		c.keepFor(p, e.Plan, e.Node)
	}
}

// allTold checks that those were told to go who were chosen.
func (c *cluster) allTold() {
	for _, key := range slices.Sorted(maps.Keys(c.step.chosen)) {
		c.breach("the pod %s was chosen to make room and was not told", key)
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
		c.books.change(c.books.nominees, -1)
	}
}

// recorded looks for the events that say that a plan found nobody, and that a
// queue gives back.
func (c *cluster) recorded(e *si.EventRecord) {
	switch {
	case e.Type == si.EventRecord_REQUEST && e.EventChangeType == si.EventRecord_NONE:
		if p := c.pods[core.AllocationKey(e.ObjectID)]; p != nil && p.required != "" {
			c.step.inVain = append(c.step.inVain, p.key)
		}
	case e.Type == si.EventRecord_QUEUE && e.EventChangeDetail == si.EventRecord_QUEUE_PREEMPTION:
		if path := core.QueuePath(e.ObjectID); !slices.Contains(c.step.givesBack, path) {
			c.step.givesBack = append(c.step.givesBack, path)
		}
	}
}
