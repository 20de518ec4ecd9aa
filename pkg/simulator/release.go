package simulator

import (
	"fmt"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// stop ends a pod on its node and reports it to the core, late, twice or never if a
// fault says so.
func (c *cluster) stop(p *pod, why si.TerminationType) {
	c.stopAfter(p, why, 0)
}

// stopAfter is stop for a pod that takes its time.
func (c *cluster) stopAfter(p *pod, why si.TerminationType, grace time.Duration) {
	p.vacate()
	p.moveTo(over)
	c.confirm(grace, func() {
		c.discharge(p)
		c.send(core.ReleaseAllocation{Application: p.app.id, Key: p.key, Termination: why})
	})
}

// confirm reports to the core that a pod has ended, after the grace and a delay:
// late, twice or never if a fault says so.
func (c *cluster) confirm(grace time.Duration, report func()) {
	f := c.scenario.Faults
	never, late, twice := f.ReleaseNever.happens(c.faults), f.ReleaseLate.happens(c.faults), f.ReleaseTwice.happens(c.faults)
	if never {
		c.tally.releasesNever++
		return
	}
	delay := grace + c.pause(c.scenario.Delays.Stop)
	if late {
		c.tally.releasesLate++
		delay += c.pause(f.Late)
	}
	c.soon(delay, report)
	if twice {
		c.tally.releasesTwice++
		c.soon(delay+c.pause(f.Late), report)
	}
}

// soon does something after a delay, or at once without one.
func (c *cluster) soon(delay time.Duration, do func()) {
	if delay == 0 {
		do()
		return
	}
	c.after(delay, do)
}

// released takes in that an allocation has ended, which only this side can bring
// about: by a release, a failed node, or a pod that could not be bound and waits.
func (c *cluster) released(e *core.Ended) {
	p := c.pods[e.Key]
	if p == nil || e.Cause == core.CauseBindFailed {
		return
	}
	if p.state != over {
		c.breach("pod %s was released without a request: %s", p.key, e.Message)
		return
	}
	c.discharge(p)
}

// evict ends a pod before its time, and asks for its successor.
func (c *cluster) evict(p *pod, why si.TerminationType) {
	if p.state == over {
		return
	}
	if p.state == waiting {
		c.cancel(p)
		return
	}
	if p.state == starting {
		c.countPlaced(p)
	}
	p.app.queue.count(func(n *podCounts) { n.evicted++ })
	c.markUp(p)
	grace := time.Duration(0)
	if why == si.TerminationType_PREEMPTED_BY_SCHEDULER {
		grace = p.grace
	}
	c.stopAfter(p, why, grace)
	c.restart(p)
}

// lose is a pod that vanishes with its node.
func (c *cluster) lose(p *pod) {
	if p.state == starting {
		c.countPlaced(p)
	}
	p.app.queue.count(func(n *podCounts) { n.lost++ })
	c.markUp(p)
	p.vacate()
	p.moveTo(over)
	c.restart(p)
}

// restart asks for the successor of a pod, unless it comes once only.
func (c *cluster) restart(p *pod) {
	if p.once || p.daemon != nil {
		return
	}
	c.tally.restarts++
	next := &pod{
		podSpec: p.podSpec,
		base:    p.base,
		attempt: p.attempt + 1,
		app:     p.app,
		leave:   p.leave,
		runs:    p.runs,
	}
	next.key = core.AllocationKey(fmt.Sprintf("%s~%d", next.base, next.attempt))
	c.markDown(next)
	c.after(c.pause(c.scenario.Delays.Restart), func() {
		next.app = c.application(p.app.id, p.app.requested, p.app.user)
		c.arrive(next)
	})
}
