package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"

// candidate is an allocation as the preemptor sees it.
func (r *request) candidate() preemptor.Candidate {
	return preemptor.Candidate{
		Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Created: r.Created,
		Required:  r.Required != "",
		Foreign:   r.IsForeign(),
		Static:    r.Origin == Static,
		Owner:     r.owns(),
		OptedOut:  r.optedOut(),
		Protected: r.replaced() || !r.foreign() && r.application.queue.properties.PreemptionPolicy == PreemptionDisabled,
		Releasing: r.releasing(),
		Overdue:   r.eviction != nil && r.eviction.overdue,
		QoS:       r.qos(),
		Settled:   r.Settled,
	}
}

// candidates are all allocations of a node as the preemptor sees them.
func (n *node) candidates() []preemptor.Candidate {
	on := make([]preemptor.Candidate, 0, len(n.own)+len(n.foreign))
	for r := range n.allOn {
		on = append(on, r.candidate())
	}
	return on
}

// optedOut reports whether an allocation asks not to be preempted. Having no
// policy is no such wish.
func (a *Allocation) optedOut() bool {
	return a.Preemptable.Stated && !a.Preemptable.AllowSelf ||
		a.Tags[TagAllowPreemption] == "false" || a.Tags[labelAllowPreemption] == "false"
}

// Class is what an allocation is when it is a victim, or would be.
func (a *Allocation) Class() preemptor.Class {
	switch {
	case a.optedOut():
		return preemptor.OptedOut
	case a.IsForeign():
		return preemptor.Foreign
	case a.owns():
		return preemptor.Owner
	default:
		return preemptor.Regular
	}
}

// owns reports whether others of its application depend on an allocation.
func (a *Allocation) owns() bool { return a.Originator || a.Tags[TagOwner] == "true" }
