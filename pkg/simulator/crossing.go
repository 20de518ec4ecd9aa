package simulator

import "github.com/narwhal-scheduler/narwhal/pkg/core/api"

// This file handles messages of the scheduler that crossed with requests on the way.
// In virtual time a request is carried out before anything else happens, unless a fault says
// that messages cross. In real time the scheduler may place a pod that was just taken back, or on
// a node that just failed. It learns of that a little later, and does what follows
// from it; the same is done here.

// overtaken reports whether an event was overtaken by something that the scheduler
// does not know yet. It does what is left to do then.
func (c *cluster) overtaken(event api.Event) bool {
	switch e := event.(type) {
	case api.Placed:
		return c.placementCrossed(e.Allocation)
	case *api.Claimed:
		p, n := c.pods.byKey[e.Key], c.nodes.byID[e.Node]
		return e.Plan != nil && (p == nil || p.state != waiting || n == nil || !n.up)
	case *api.ReleaseRequested:
		return c.pods.byKey[e.Key] == nil
	default:
		return false
	}
}

// crossed is overtaken, also by something that the scheduler knows by now.
func (c *cluster) crossed(event api.Event) bool {
	if e, is := event.(*api.Ended); is {
		return c.endCrossed(e)
	}
	return c.overtaken(event)
}

// crosses is a fault of messages on their way to the core: it schedules before so many of them have come.
// Those about different pods may have changed places.
func (s *simulation) crosses() (held int) {
	if len(s.inbox) == 0 || !s.happensIn(s.crossing, s.scenario.Faults.Cross) {
		return 0
	}
	s.counts.crossed++
	for i := range s.inbox[1:] {
		a, b := keyIn(s.inbox[i]), keyIn(s.inbox[i+1])
		if a != "" && b != "" && a != b && s.crossing.IntN(2) == 0 {
			s.inbox[i], s.inbox[i+1] = s.inbox[i+1], s.inbox[i]
		}
	}
	return s.crossing.IntN(len(s.inbox)) + 1
}

// keyIn is the pod that a command is about; empty for none.
func keyIn(command api.Command) api.AllocationKey {
	switch c := command.(type) {
	case api.AddAllocation:
		return c.Allocation.Key
	case api.ReleaseAllocation:
		return c.Key
	}
	return ""
}

// placementCrossed is about pods that were taken back, whose release frees the
// place, and nodes that failed, which take the pod with them.
func (c *cluster) placementCrossed(a *api.Allocation) bool {
	p, n := c.pods.byKey[a.Key], c.nodes.byID[a.Node]
	if p == nil {
		return true
	}
	if p.state == waiting && n != nil && !n.up {
		c.pods.vanish(p)
		return true
	}
	return false
}

// endCrossed is about pods that the scheduler placed on a node before it heard that
// the node failed, and whose placement arrived when the node was back already.
func (c *cluster) endCrossed(e *api.Ended) bool {
	p := c.pods.byKey[e.Key]
	if p == nil || e.IsForeign() || p.state == over {
		return false
	}
	c.pods.vanish(p)
	return true
}

// refusalCrossed is about asks of an application that the scheduler completed
// while they were on the way: the application is registered again, and they are sent
// again.
func (c *cluster) refusalCrossed(e *api.AllocationRejected) bool {
	p := c.pods.byKey[e.Key]
	if p == nil || p.state != waiting || p.app.known && p.under == p.app.times || p.app.rejected != "" {
		return false
	}
	c.pods.sendAgain(p)
	return true
}

// sendAgain asks for a pod whose ask was refused, as if it had not been asked for.
func (ps *pods) sendAgain(p *pod) {
	if p.twice {
		p.refusals++
	}
	ps.books.wait(p, -1)
	delete(ps.byKey, p.key)
	p.count(func(n *podCounts) { n.arrived-- }) // it arrives again
	if !p.placeholder {
		p.app.arrived--
	}
	p.app = ps.applications.register(p.app.command)
	p.moveTo(waiting)
	ps.arrive(p)
}

// vanish is a pod that has ended for the scheduler, in whatever state it is here.
func (ps *pods) vanish(p *pod) {
	if p.state == waiting {
		ps.books.wait(p, -1)
	}
	ps.lose(p)
	ps.discharge(p)
	delete(ps.byKey, p.key)
}
