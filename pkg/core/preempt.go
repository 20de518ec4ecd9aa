package core

import (
	"fmt"
	"strconv"
	"time"

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
	// TagQoS is the class of service of a pod: BestEffort, Burstable, which it is
	// without the tag, or Guaranteed.
	TagQoS = "qosClass"
	// TagGrace is how many seconds an allocation may take to end once it was told
	// to go.
	TagGrace = "terminationGracePeriodSeconds"

	labelAllowPreemption = "kubernetes.io/label/" + TagAllowPreemption
)

// planReportDelay is how long a plan in vain is not reported again, whatever its
// answer.
const planReportDelay = 15 * time.Second

// A going is the way out of an allocation that was told to go and has not gone.
type going struct {
	ask     AllocationKey // that it makes room for; empty if its queue gives back
	trigger preemptor.Trigger
	class   preemptor.Class // what it was when it was chosen
	since   time.Time
	stuck   bool // it did not go in time: its room is not counted on
}

// planStands reports whether the last plan for an ask would come out the same:
// the node has not changed, and if it was too early for one, it still is.
func (r *request) planStands(n *node, now time.Time) bool {
	w := r.wait
	return w.plan != nil && w.planned == n.revision &&
		(w.plan.Reason != preemptor.TooYoung || w.plan.Again.After(now))
}

// makeRoom plans who makes room for an ask that must run on a node and does not
// fit, and tells the victims to go. What is promised to the asks before it is
// not free for this one.
func (p *Partition) makeRoom(r *request, n *node, promised resources.Amounts) {
	w := r.waiting()
	if r.spares() {
		w.plan, w.detail = nil, "nobody is to go for it"
		return
	}
	reserved := p.now
	if held := w.reservation; held != nil {
		reserved = held.At
	}
	plan := preemptor.Plan(p.now, p.preemption.RequiredNode,
		preemptor.Ask{Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Reserved: reserved},
		preemptor.Node{Kinds: p.kinds, Free: n.free.Minus(promised), On: n.candidates()})
	p.preempted.Plans++
	w.planned, w.detail = n.revision, plan.Summary(p.kinds)
	if plan.Reason == preemptor.WaitsForReleasing && r.promises() {
		return // the record of who was chosen says more
	}
	w.plan, w.plannedAt = &plan, p.now
	switch plan.Reason {
	case preemptor.Chosen:
		p.tell(&PreemptionPlanned{r.Application, r.Key, r.application.queue.path, n.id, &plan})
		for i := range plan.Victims {
			p.tellToGo(&plan.Victims[i], r, &plan)
		}
		w.planned = n.revision
	case preemptor.WaitsForReleasing:
	case preemptor.TooYoung:
		if !w.at.Equal(plan.Again) {
			w.at = plan.Again
			p.alarms.add(alarm{at: w.at, request: r})
		}
	default:
		p.reportVain(r, fmt.Sprintf("no room on required node %s: %s", n.id, w.detail))
	}
}

// withDefaults fills in what is not configured.
func (c PreemptionConfig) withDefaults() PreemptionConfig {
	if len(c.RequiredNode.Strategies) == 0 {
		c.RequiredNode = preemptor.DefaultConfig()
	}
	c.RequiredNode.Disabled = c.RequiredNode.Disabled || c.Disabled
	setDefault(&c.VictimTimeout, DefaultVictimTimeout)
	setDefault(&c.LoopMax, DefaultLoopMax)
	setDefault(&c.LoopWindow, DefaultLoopWindow)
	return c
}

// planFor is how plans of a trigger are bounded.
func (c PreemptionConfig) planFor(t preemptor.Trigger) preemptor.Config {
	if t == preemptor.RequiredNode {
		return c.RequiredNode
	}
	plan := preemptor.DefaultConfig()
	plan.VictimsMax = preemptor.VictimsLimit
	plan.Budgets, plan.ByQoS, plan.EqualsToo = c.Budgets, c.ByQoS, c.Priority == EqualToo
	return plan
}

// candidates are all allocations of a node as the preemptor sees them.
func (n *node) candidates() []preemptor.Candidate {
	on := make([]preemptor.Candidate, 0, len(n.own)+len(n.foreign))
	for _, list := range [2][]*request{n.own, n.foreign} {
		for _, r := range list {
			on = append(on, r.candidate())
		}
	}
	return on
}

// candidate is an allocation as the preemptor sees it.
func (r *request) candidate() preemptor.Candidate {
	return preemptor.Candidate{
		Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Created: r.Created,
		Required:  r.Required != "",
		Foreign:   r.IsForeign(),
		Static:    r.Origin == Static,
		Owner:     r.Originator || r.Tags[TagOwner] == "true",
		OptedOut:  r.optedOut(),
		Protected: !r.foreign() && r.application.queue.properties.PreemptionPolicy == PreemptionDisabled,
		Releasing: r.leaves(),
		Overdue:   r.going != nil && r.going.stuck,
		QoS:       r.qos(),
	}
}

// qos is the class of service, from the tag.
func (a *Allocation) qos() preemptor.QoS {
	if a.Tags == nil {
		return preemptor.Burstable
	}
	switch a.Tags[TagQoS] {
	case "BestEffort":
		return preemptor.BestEffort
	case "Guaranteed":
		return preemptor.Guaranteed
	}
	return preemptor.Burstable
}

// optedOut reports whether an allocation asks not to be preempted. Having no
// policy is no such wish.
func (a *Allocation) optedOut() bool {
	return a.Preemptable.Stated && !a.Preemptable.AllowSelf ||
		a.Tags[TagAllowPreemption] == "false" || a.Tags[labelAllowPreemption] == "false"
}

// tellToGo has the resource manager end a victim of a plan for an ask. Nothing is
// freed until it says that it did.
func (p *Partition) tellToGo(v *preemptor.Victim, r *request, plan *preemptor.Decision) {
	victim := p.requests[AllocationKey(v.Key)]
	message := fmt.Sprintf("preempted on node %s to make room for %s of application %s", victim.Node, r.Key, r.Application)
	switch plan.Trigger {
	case preemptor.Priority:
		message += fmt.Sprintf(", by priority %d over %d", r.Priority, v.Priority)
	case preemptor.Guarantee:
		message += fmt.Sprintf(", by the guarantee of queue %s", r.application.queue.path)
	}
	p.endFor(victim, going{ask: r.Key, trigger: plan.Trigger, class: v.Class, since: p.now}, message)
}

// endFor tells a victim to go, and everybody why.
func (p *Partition) endFor(victim *request, g going, message string) {
	p.setGoing(victim, &g)
	p.preempted.Victims[g.trigger][g.class]++
	p.tell(&EvictionRequested{victim.Allocation, g.ask, g.trigger, g.class, message})
	p.timeVictim(victim)
	victim.node.touched, p.told = p.batch, p.batch
}

// setGoing sets whether and how an allocation goes, and what is counted of it.
func (p *Partition) setGoing(victim *request, g *going) {
	if victim.leaves() {
		victim.node.leaving.Sub(victim.Amounts)
		if !victim.foreign() {
			victim.application.queue.left(victim.Amounts)
		}
	}
	victim.going = g
	if victim.leaves() {
		victim.node.leaving.Add(victim.Amounts)
		if !victim.foreign() {
			victim.application.queue.leave(victim.Amounts)
		}
	}
	victim.node.view = nil
	victim.node.revision++
	p.changed(victim.node)
	if !victim.foreign() {
		p.unview(victim.application.queue)
	}
}

// timeVictim has a victim looked at when it should have gone.
func (p *Partition) timeVictim(victim *request) {
	p.alarms.add(alarm{at: p.overdueAt(victim), request: victim})
}

// graceMargin is how much longer a victim may take than it says.
const graceMargin = time.Minute

// overdueAt is when a victim should have gone: after the timeout, or later if
// it is entitled to take longer.
func (p *Partition) overdueAt(victim *request) time.Time {
	timeout := p.preemption.VictimTimeout
	if seconds, err := strconv.ParseInt(victim.Tags[TagGrace], 10, 32); err == nil {
		timeout = max(timeout, time.Duration(seconds)*time.Second+graceMargin)
	}
	return victim.going.since.Add(timeout)
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
	if victim.going.stuck || p.overdueAt(victim).After(p.now) {
		return
	}
	stuck := *victim.going
	stuck.stuck = true
	p.setGoing(victim, &stuck)
	p.preempted.Overdue[stuck.trigger][stuck.class]++
	p.disturb(victim.node)
	if !victim.foreign() {
		p.watchUp(victim.application.queue, false)
		p.recheckQuota()
	}
}

// reportVain records why nobody makes room, once for each answer and not too
// often.
func (p *Partition) reportVain(r *request, message string) {
	w := r.wait
	if message == w.reported || (w.reported != "" && w.reportedAt.Add(planReportDelay).After(p.now)) {
		return
	}
	w.reported, w.reportedAt = message, p.now
	p.tell(&AskReport{r.Allocation, message})
}

// promises reports whether room is on its way for an ask, so that nobody else
// may have it.
func (r *request) promises() bool {
	return r.wait != nil && r.wait.plan != nil &&
		(r.wait.plan.Reason == preemptor.Chosen || r.wait.plan.Reason == preemptor.WaitsForReleasing)
}
