package core

import (
	"fmt"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Tags with which a resource manager says more about an allocation than the
// interface has fields for.
const (
	// TagOwner marks, with "true", an allocation that owns others.
	TagOwner = "owner"
	// TagAllowPreemption says, with "false", that an allocation asks not to be
	// preempted. It may be written as the label of a pod.
	TagAllowPreemption = "yunikorn.apache.org/allow-preemption"

	labelAllowPreemption = "kubernetes.io/label/" + TagAllowPreemption
)

// planReportDelay is how long a plan in vain is not reported again, whatever its
// answer.
const planReportDelay = 15 * time.Second

// A going is the way out of an allocation that was told to go and has not gone.
type going struct {
	ask   AllocationKey // that it makes room for
	since time.Time
	stuck bool // it did not go in time: its room is not counted on
}

// planStands reports whether the last plan for an ask would come out the same:
// it was not too early for one, and the node has not changed.
func (r *request) planStands(n *node) bool {
	w := r.wait
	return w.plan != nil && w.planned == n.revision && w.plan.Reason != preemptor.TooYoung
}

// makeRoom plans who makes room for an ask that must run on a node and does not
// fit, and tells the victims to go. What is promised to the asks before it is
// not free for this one.
func (p *Partition) makeRoom(r *request, n *node, promised resources.Amounts) {
	w := r.waiting()
	reserved := p.now
	if held := w.reservation; held != nil {
		reserved = held.At
	}
	plan := preemptor.Plan(p.now, p.preemption.RequiredNode,
		preemptor.Ask{Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Reserved: reserved},
		preemptor.Node{Kinds: p.kinds, Free: n.free.Minus(promised), On: n.candidates()})
	p.preempted.Plans++
	w.planned, w.detail = n.revision, plan.Verdict(p.kinds)
	if plan.Reason == preemptor.WaitsForLeaving && r.promises() {
		return // the record of who was chosen says more
	}
	w.plan, w.plannedAt = &plan, p.now
	switch plan.Reason {
	case preemptor.Chosen:
		for _, v := range plan.Victims {
			p.tellToGo(p.requests[AllocationKey(v.Key)], r)
		}
		w.planned = n.revision
	case preemptor.WaitsForLeaving:
	case preemptor.TooYoung:
		if !w.at.Equal(plan.Again) {
			w.at = plan.Again
			p.alarms.add(alarm{at: w.at, request: r})
		}
	default:
		p.reportPlan(r, n)
	}
}

// withDefaults fills in what is not configured.
func (c PreemptionConfig) withDefaults() PreemptionConfig {
	if len(c.RequiredNode.Strategies) == 0 {
		c.RequiredNode = preemptor.DefaultConfig()
	}
	c.RequiredNode.Disabled = c.RequiredNode.Disabled || c.Disabled
	setDefault(&c.VictimTimeout, DefaultVictimTimeout)
	return c
}

// candidates are all allocations of a node as the preemptor sees them.
func (n *node) candidates() []preemptor.Candidate {
	on := make([]preemptor.Candidate, 0, len(n.own)+len(n.foreign))
	for _, list := range [2][]*request{n.own, n.foreign} {
		for _, r := range list {
			on = append(on, preemptor.Candidate{
				Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Created: r.Created,
				Required:  r.Required != "",
				Foreign:   r.IsForeign(),
				Static:    r.Origin == Static,
				Owner:     r.Originator || r.Tags[TagOwner] == "true",
				OptedOut:  r.optedOut(),
				Protected: !r.foreign() && r.application.queue.properties.PreemptionPolicy == PreemptionDisabled,
				Leaving:   r.going != nil && !r.going.stuck,
				Stuck:     r.going != nil && r.going.stuck,
			})
		}
	}
	return on
}

// optedOut reports whether an allocation asks not to be preempted. Having no
// policy is no such wish.
func (a *Allocation) optedOut() bool {
	return a.Preemptable.Stated && !a.Preemptable.AllowSelf ||
		a.Tags[TagAllowPreemption] == "false" || a.Tags[labelAllowPreemption] == "false"
}

// tellToGo has the resource manager end a victim. Nothing is freed until it
// says that it did.
func (p *Partition) tellToGo(victim, r *request) {
	n := victim.node
	victim.going = &going{ask: r.Key, since: p.now}
	n.view = nil
	n.revision++
	p.preempted.Victims++
	message := fmt.Sprintf("preempted on node %s to make room for %s of application %s", n.id, r.Key, r.Application)
	p.tell(p.release(victim, si.TerminationType_PREEMPTED_BY_SCHEDULER, message))
	p.record(&si.EventRecord{
		Type: si.EventRecord_REQUEST, ObjectID: string(victim.Key), ReferenceID: string(victim.Application), Message: message,
		EventChangeType: si.EventRecord_REMOVE, EventChangeDetail: si.EventRecord_ALLOC_PREEMPT,
		Resource: ResourceOf(p.kinds, victim.Amounts),
	})
	p.timeVictim(victim)
}

// timeVictim has a victim looked at when it should have gone.
func (p *Partition) timeVictim(victim *request) {
	p.alarms.add(alarm{at: victim.going.since.Add(p.preemption.VictimTimeout), request: victim})
}

// timeVictims has all victims looked at in the light of another timeout. The old
// alarms find that it is too early, or too late.
func (p *Partition) timeVictims() {
	for n := range p.allNodes {
		for _, list := range [2][]*request{n.own, n.foreign} {
			for _, r := range list {
				if r.going != nil && !r.going.stuck {
					p.timeVictim(r)
				}
			}
		}
	}
}

// overdue looks at a victim that has not gone in time. Its room is no longer
// counted on, and the plan is made again without it.
func (p *Partition) overdue(victim *request) {
	if victim.going.stuck || victim.going.since.Add(p.preemption.VictimTimeout).After(p.now) {
		return
	}
	n := victim.node
	victim.going.stuck = true
	p.preempted.Stuck++
	n.view = nil
	n.revision++
	p.disturb(n)
}

// reportPlan records why nobody makes room, once for each answer and not too
// often.
func (p *Partition) reportPlan(r *request, n *node) {
	w := r.wait
	if w.detail == w.reported || (w.reported != "" && w.reportedAt.Add(planReportDelay).After(p.now)) {
		return
	}
	w.reported, w.reportedAt = w.detail, p.now
	p.record(&si.EventRecord{
		Type: si.EventRecord_REQUEST, ObjectID: string(r.Key), ReferenceID: string(r.Application),
		Message: fmt.Sprintf("no room on required node %s: %s", n.id, w.detail),
	})
}

// promises reports whether room is on its way for an ask, so that nobody else
// may have it.
func (r *request) promises() bool {
	return r.wait != nil && r.wait.plan != nil &&
		(r.wait.plan.Reason == preemptor.Chosen || r.wait.plan.Reason == preemptor.WaitsForLeaving)
}
