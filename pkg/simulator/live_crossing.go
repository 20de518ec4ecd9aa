package simulator

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// This file handles messages of the scheduler that crossed with requests on the way.
// In virtual time there are none: a request is carried out before anything else
// happens. In real time the scheduler may place a pod that was just taken back, or on
// a node that just failed. It learns of that a little later, and does what follows
// from it; the same is done here.

// crossed reports whether an event was overtaken by something the scheduler has
// did not know yet, or knows by now. It does what is left to do then.
func (c *cluster) crossed(event core.Event) bool {
	switch e := event.(type) {
	case core.Placed:
		return c.placementCrossed(e.Allocation)
	case *core.Ended:
		return c.endCrossed(e)
	case *core.EvictionRequested:
		// A victim that could not be bound in the meantime waits and holds no room.
		p := c.pods[e.Key]
		return p != nil && !e.IsForeign() && p.state == waiting
	case *core.AllocationRejected:
		return c.refusalCrossed(e)
	default:
		return false
	}
}

// placementCrossed is about pods that were taken back, whose release frees the
// place, and nodes that failed, which take the pod with them.
func (c *cluster) placementCrossed(a *core.Allocation) bool {
	p, n := c.pods[a.Key], c.nodes[a.Node]
	if p == nil {
		return true
	}
	if p.state == waiting && n != nil && !n.up {
		c.vanish(p)
		return true
	}
	return false
}

// endCrossed is about pods that the scheduler placed on a node before it heard that
// the node failed, and whose placement arrived when the node was back already.
func (c *cluster) endCrossed(e *core.Ended) bool {
	p := c.pods[e.Key]
	if p == nil || e.IsForeign() || p.state == over {
		return false
	}
	c.vanish(p)
	return true
}

// refusalCrossed is about asks of an application that the scheduler completed
// while they were on the way: the application is registered again, and they are sent
// again.
func (c *cluster) refusalCrossed(e *core.AllocationRejected) bool {
	p := c.pods[e.Key]
	if p == nil || p.state != waiting || p.app.known || p.app.rejected != "" {
		return false
	}
	c.books.wait(p, -1)
	delete(c.pods, p.key)
	p.app.queue.count(func(n *podCounts) { n.arrived-- }) // it arrives again
	p.app = c.application(p.app.id, p.app.requested, p.app.user)
	p.moveTo(waiting)
	c.arrive(p)
	return true
}

// vanish is a pod that has ended for the scheduler, in whatever state it is here.
func (c *cluster) vanish(p *pod) {
	if p.state == waiting {
		c.books.wait(p, -1)
	}
	c.lose(p)
	c.discharge(p)
	delete(c.pods, p.key)
}
