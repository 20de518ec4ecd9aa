package simulator

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// This file is what happens to news that crossed with ours on the way. In virtual
// time there is none: a request is carried out before anything else happens. In
// real time the scheduler may place a pod that was just taken back, or on a node
// that just failed. It hears of that a little later and draws the conclusion; the
// same has to be drawn here.

// crossed reports whether an effect was overtaken by something the scheduler has
// not heard of yet, or has heard of by now. It does what is left to do then.
func (c *cluster) crossed(effect any) bool {
	switch e := effect.(type) {
	case *si.Allocation:
		return c.placementCrossed(e)
	case *si.AllocationRelease:
		return c.releaseCrossed(e)
	case *si.RejectedAllocation:
		return c.refusalCrossed(e)
	default:
		return false
	}
}

// placementCrossed is about pods that were taken back, whose release frees the
// place, and nodes that failed, which take the pod with them.
func (c *cluster) placementCrossed(e *si.Allocation) bool {
	p, n := c.pods[core.AllocationKey(e.AllocationKey)], c.nodes[core.NodeID(e.NodeID)]
	if p == nil {
		return true
	}
	if p.state == waiting && n != nil && !n.up {
		c.vanish(p)
		return true
	}
	return false
}

// releaseCrossed is about pods that the scheduler placed on a node before it heard
// that the node failed, and that were heard of when it was back already; and about
// victims that could not be bound in the meantime, which wait and hold no room.
func (c *cluster) releaseCrossed(e *si.AllocationRelease) bool {
	p := c.pods[core.AllocationKey(e.AllocationKey)]
	if p == nil || e.ApplicationID == "" {
		return false
	}
	switch e.TerminationType {
	case si.TerminationType_STOPPED_BY_RM, si.TerminationType_UNKNOWN_TERMINATION_TYPE:
		if p.state != over {
			c.vanish(p)
			return true
		}
	case si.TerminationType_PREEMPTED_BY_SCHEDULER:
		return p.state == waiting
	default:
	}
	return false
}

// refusalCrossed is about asks of an application that the scheduler completed
// while they were on the way: the application comes again, and they with it.
func (c *cluster) refusalCrossed(e *si.RejectedAllocation) bool {
	p := c.pods[core.AllocationKey(e.AllocationKey)]
	if p == nil || p.state != waiting || p.app.known || p.app.rejected != "" {
		return false
	}
	c.books.wait(p, -1)
	delete(c.pods, p.key)
	p.app.queue.count(func(n *podCounts) { n.arrived-- }) // it arrives again
	p.app = c.application(p.app.id, p.app.wish, p.app.user)
	p.moveTo(waiting)
	c.arrive(p)
	return true
}

// vanish is a pod that is gone for the scheduler, in whatever state it is here.
func (c *cluster) vanish(p *pod) {
	if p.state == waiting {
		c.books.wait(p, -1)
	}
	c.lose(p)
	c.discharge(p)
	delete(c.pods, p.key)
}
