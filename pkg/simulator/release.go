package simulator

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// stop ends a pod on its node and reports it to the core, late, twice or never if a
// fault says so.
func (ps *pods) stop(p *pod, why si.TerminationType) {
	ps.stopAfter(p, why, 0)
}

// stopAfter is stop for a pod that takes its time.
func (ps *pods) stopAfter(p *pod, why si.TerminationType, grace time.Duration) {
	p.vacate()
	p.moveTo(over)
	p.silent = !ps.confirm(grace, func() {
		if succeeded := p.done && p.tags[api.TagQuorum] != ""; succeeded && ps.byKey[p.key] != p {
			ps.applications.tellDone(p.app) // it ended with its node before
			return
		}
		ps.discharge(p)
		release := api.ReleaseAllocation{Application: p.app.id, Key: p.key, Termination: why}
		if p.done && p.tags[api.TagQuorum] != "" {
			release.Message = api.Succeeded // it still counts in its group
		}
		ps.send(release)
	})
}

// evict ends a pod before its time, and asks for its successor.
func (ps *pods) evict(p *pod, why si.TerminationType) {
	if p.state == over {
		return
	}
	if p.state == waiting {
		ps.cancel(p)
		return
	}
	if p.state == starting {
		ps.countPlaced(p)
	}
	p.count(func(n *podCounts) { n.evicted++ })
	ps.budgets.markUp(p)
	grace := time.Duration(0)
	if why == si.TerminationType_PREEMPTED_BY_SCHEDULER {
		grace = p.grace
	}
	ps.stopAfter(p, why, grace)
	ps.restart(p)
}

// lose is a pod that vanishes with its node.
func (ps *pods) lose(p *pod) {
	if p.state == starting {
		ps.countPlaced(p)
	}
	p.count(func(n *podCounts) { n.lost++ })
	ps.budgets.markUp(p)
	p.vacate()
	p.moveTo(over)
	ps.restart(p)
}

// restart asks for the successor of a pod, unless it comes once only.
func (ps *pods) restart(p *pod) {
	switch {
	case p.placeholder && p.keeps():
		ps.counts.gangs.Again++
	case p.once || p.daemon != nil || p.placeholder:
		return
	default:
		ps.counts.restarts++
	}
	next := &pod{
		podSpec: p.podSpec,
		base:    p.base,
		attempt: p.attempt + 1,
		app:     p.app,
		leave:   p.leave,
		runs:    p.runs,
	}
	next.key = attemptKey(next.base, next.attempt)
	ps.budgets.markDown(next)
	ps.after(ps.pause(ps.scenario.Delays.Restart), func() {
		next.app = ps.applications.register(p.app.command)
		ps.arrive(next)
	})
}
