package simulator

import (
	"fmt"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// podState is where a pod is in its life.
type podState uint8

// A pod waits, has a node and starts, runs, and is over. One that cannot be
// bound waits again.
const (
	waiting podState = iota
	starting
	running
	over
)

// A pod is one ask and what becomes of it.
//
//	node and devices are set if and only if it is starting or running
//	charged is whether the core has it on its books, which outlasts the pod
//	when its release is late
type pod struct {
	*podSpec
	key      core.AllocationKey
	serial   int64 // order of arrival
	attempt  int   // from one; more when it was lost before
	base     core.AllocationKey
	app      *application
	arrived  time.Duration
	leave    time.Duration // the moment it leaves, placed or not; negative is none
	runs     time.Duration // once it runs; negative is for ever
	required core.NodeID

	// plan is the last plan to make room for it that was taken down, and helped
	// whether it or an earlier one had victims. nominated is the node that it is
	// nominated to while it waits.
	plan      *preemptor.Decision
	helped    bool
	nominated core.NodeID

	releasing  bool // evicted, and charged still
	down       bool // it counts as down for its budgets
	state      podState
	on         core.NodeID   // where it was placed last
	at         time.Duration // of the placement
	node       *node
	devices    []int
	charged    bool
	generation int // counts changes of state, so that what was planned before does nothing
}

// A podSpec is what equal pods share.
type podSpec struct {
	wants
	amounts  resources.Amounts
	priority int32
	once     bool
	driver   bool
	optOut   bool
	spares   bool // no pod is to be evicted for it
	stubborn bool
	grace    time.Duration // that it takes to end after its eviction was requested
	budgets  []*budget
	daemon   *daemonSet // nil for all others
	tags     map[string]string
}

// arrive asks for a pod.
func (c *cluster) arrive(p *pod) {
	c.serial++
	p.serial, p.arrived = c.serial, c.now
	if c.pods[p.key] != nil {
		c.breach("the pod %s arrives twice", p.key)
		return
	}
	p.app.queue.count(func(n *podCounts) { n.arrived++ })
	c.books.wait(p, 1)
	c.pods[p.key] = p
	c.report(&core.Allocation{
		Key:         p.key,
		Application: p.app.id,
		Amounts:     p.amounts,
		Priority:    p.priority,
		Created:     epoch.Add(c.now),
		Required:    p.required,
		Originator:  p.driver,
		Preemptable: core.Preemptable{Stated: p.optOut || p.spares, AllowSelf: !p.optOut, AllowOthers: !p.spares},
		Tags:        p.tags,
	})
	if p.leave >= 0 {
		c.events.plan(max(p.leave, c.now), func() { c.leave(p) })
	}
}

// feasible is the answer to the question whether a pod may run on a node now.
func (c *cluster) feasible(key core.AllocationKey, id core.NodeID, _ bool) error {
	p, n := c.pods[key], c.nodes[id]
	if p == nil || n == nil || !n.up {
		return fmt.Errorf("pod %s or node %s is not known", key, id)
	}
	return n.check(&p.wants)
}

// predicateClass names the pods that get the same answers as a pod from feasible;
// empty for a pod that is not known.
func (c *cluster) predicateClass(key core.AllocationKey) string {
	if p := c.pods[key]; p != nil {
		return p.class
	}
	return ""
}

// simulate says whether a pod may run on a node to which some pods were added
// and from which some were taken away. Labels and models stay as they are.
func (c *cluster) simulate(key core.AllocationKey, id core.NodeID, add, remove []core.AllocationKey) error {
	p, n := c.pods[key], c.nodes[id]
	if p == nil || n == nil || !n.up {
		return &unresolvable{fmt.Errorf("pod %s or node %s is not known", key, id)}
	}
	if err := n.never(&p.wants); err != nil {
		return &unresolvable{err}
	}
	if p.demand.Count == 0 {
		return nil
	}
	table := n.table.clone()
	for _, gone := range remove {
		if q := c.pods[gone]; q != nil && q.node == n {
			table.give(q.demand, q.devices)
		}
	}
	for _, come := range add {
		if q := c.pods[come]; q != nil && table.check(&q.wants) == nil {
			table.take(q.demand)
		}
	}
	return table.check(&p.wants)
}

// An unresolvable refusal holds whatever ends on the node.
type unresolvable struct{ error }

// Unresolvable says so to the core.
func (*unresolvable) Unresolvable() bool { return true }

// placed takes in a placement: the pod gets its devices and starts, or cannot
// be bound.
func (c *cluster) placed(a *core.Allocation) {
	p, n := c.pods[a.Key], c.nodes[a.Node]
	switch {
	case p == nil || p.state != waiting:
		c.breach("pod %s was placed on %s and does not wait", a.Key, a.Node)
		return
	case n == nil || !n.up:
		c.breach("pod %s was placed on %s, which is not there", a.Key, a.Node)
		return
	case p.required != "" && p.required != n.ID:
		c.breach("pod %s was placed on %s and may run on %s only", p.key, n.ID, p.required)
		return
	}
	if err := n.check(&p.wants); err != nil {
		c.breach("pod %s was placed on %s although: %w", p.key, n.ID, err)
		return
	}
	c.tally.placements++
	c.arrived(p, n.ID)
	c.books.wait(p, -1)
	p.moveTo(starting)
	p.at, p.on, p.node, p.devices = c.now, n.ID, n, n.table.take(p.demand)
	n.pods[p.key] = p
	c.charge(p)
	step, turn := c.started, p.generation
	if c.scenario.Faults.BindFails.happens(c.faults) {
		step = c.unbind
	}
	delay := c.pause(c.scenario.Delays.Start)
	if p.leave >= 0 && c.now+delay > p.leave {
		step = c.started // the end of its time comes first
	}
	if delay == 0 {
		step(p)
		return
	}
	c.after(delay, func() {
		if p.generation == turn {
			step(p)
		}
	})
}

func (p *pod) moveTo(state podState) { p.state, p.generation = state, p.generation+1 }

func (c *cluster) charge(p *pod) {
	p.charged = true
	c.books.charge(p.app.queue, p.amounts, 1)
}

// discharge follows the core, which takes a pod off its books.
func (c *cluster) discharge(p *pod) {
	if p.charged {
		p.charged = false
		c.books.charge(p.app.queue, p.amounts, -1)
	}
	if p.releasing {
		p.releasing = false
		c.books.change(c.books.releasing, -1)
		c.markUp(p)
	}
	if p.state == over {
		delete(c.pods, p.key)
	}
}

// vacate frees the node and the devices of a pod.
func (p *pod) vacate() {
	if p.node != nil {
		p.node.table.give(p.demand, p.devices)
		delete(p.node.pods, p.key)
		p.node, p.devices = nil, nil
	}
}

// started counts a pod as placed for good, and plans its end.
func (c *cluster) started(p *pod) {
	c.countPlaced(p)
	c.markUp(p)
	p.moveTo(running)
	if p.leave < 0 && p.runs >= 0 {
		turn := p.generation
		c.after(p.runs, func() {
			if p.generation == turn {
				c.ended(p)
			}
		})
	}
}

// countPlaced counts a pod as placed for good, once in its life.
func (c *cluster) countPlaced(p *pod) {
	for q := p.app.queue; q != nil; q = q.parent {
		q.pods.placed++
		q.waits = append(q.waits, p.at-p.arrived)
	}
	if p.daemon != nil {
		c.tally.daemonWaits = append(c.tally.daemonWaits, p.at-p.arrived)
	}
	if p.helped {
		one := c.tally.preemption.of(p.plan.Trigger)
		one.waits = append(one.waits, p.at-p.arrived)
	}
}

// unbind reports that a placement could not be bound: the pod waits again.
func (c *cluster) unbind(p *pod) {
	c.tally.bindFailures++
	p.vacate()
	p.moveTo(waiting)
	c.discharge(p)
	c.books.wait(p, 1)
	c.send(core.ReleaseAllocation{
		Application: p.app.id,
		Key:         p.key,
		Termination: core.SchedulingFailed,
		Message:     "the node refused the pod",
	})
}

// ended is a pod that is done.
func (c *cluster) ended(p *pod) {
	p.app.queue.count(func(n *podCounts) { n.ended++ })
	c.stop(p, si.TerminationType_STOPPED_BY_RM)
}

// leave ends a pod of a trace at its time, also when it was never placed.
func (c *cluster) leave(p *pod) {
	switch p.state {
	case running:
		c.ended(p)
	case starting:
		c.started(p)
		c.ended(p)
	case waiting:
		c.giveUp(p)
	case over:
	}
}

// giveUp takes an ask back that was never placed.
func (c *cluster) giveUp(p *pod) {
	reason := c.explain(p)
	pods := c.tally.gaveUp[reason]
	if pods == nil {
		pods = &pendingPods{example: p.key}
		c.tally.gaveUp[reason] = pods
	}
	pods.count++
	p.app.queue.count(func(n *podCounts) { n.gaveUp++ })
	c.withdraw(p)
}

// cancel takes an ask back that is not needed any more.
func (c *cluster) cancel(p *pod) {
	p.app.queue.count(func(n *podCounts) { n.cancelled++ })
	c.withdraw(p)
}

func (c *cluster) withdraw(p *pod) {
	c.unnominate(p)
	c.markUp(p)
	c.books.wait(p, -1)
	p.moveTo(over)
	delete(c.pods, p.key)
	c.send(core.ReleaseAllocation{Application: p.app.id, Key: p.key, Termination: si.TerminationType_STOPPED_BY_RM})
}

// rejected is an ask that the core refused.
func (c *cluster) rejected(e *core.AllocationRejected) {
	p := c.pods[e.Key]
	if p == nil {
		c.tally.rejections[e.Reason]++ // a foreign pod
		return
	}
	if p.state != waiting {
		c.breach("pod %s was rejected and does not wait: %s", p.key, e.Reason)
		return
	}
	reason := e.Reason
	if p.app.rejected != "" {
		reason = p.app.rejected
	}
	c.tally.rejections[reason]++
	p.app.queue.count(func(n *podCounts) { n.rejected++ })
	c.unnominate(p)
	c.markUp(p)
	c.books.wait(p, -1)
	p.moveTo(over)
	delete(c.pods, p.key)
}
