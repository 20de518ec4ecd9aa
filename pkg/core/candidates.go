package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// candidate is an allocation as the preemptor sees it.
func (r *request) candidate() preemptor.Candidate {
	return preemptor.Candidate{
		Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Created: r.Created,
		Required:  r.Required != "",
		Foreign:   r.IsForeign(),
		Static:    r.Origin == api.Static,
		Owner:     r.Owns(),
		OptedOut:  r.OptedOut(),
		Protected: r.replaced() || !r.foreign() && r.application.queue.properties.PreemptionPolicy == api.PreemptionDisabled,
		Releasing: r.eviction != nil && !r.eviction.overdue,
		Overdue:   r.eviction != nil && r.eviction.overdue,
		Late:      r.eviction != nil && r.eviction.late,
		QoS:       r.QoS(),
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
