package ledger

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// Candidate is an allocation as the preemptor sees it.
func (r *Request) Candidate() preemptor.Candidate {
	return preemptor.Candidate{
		Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Created: r.Created,
		Required:  r.Required != "",
		Foreign:   r.IsForeign(),
		Static:    r.Origin == api.Static,
		Owner:     r.Owns(),
		OptedOut:  r.OptedOut(),
		Protected: r.IsReplaced() || !r.Foreign() && r.App.Queue.Properties.PreemptionPolicy == api.PreemptionDisabled,
		Releasing: r.Eviction != nil && !r.Eviction.Overdue,
		Overdue:   r.Eviction != nil && r.Eviction.Overdue,
		Late:      r.Eviction != nil && r.Eviction.Late,
		QoS:       r.QoS(),
		Settled:   r.Settled,
	}
}

// Candidates are all allocations of a node as the preemptor sees them.
func (n *Node) Candidates() []preemptor.Candidate {
	on := make([]preemptor.Candidate, 0, len(n.Own)+len(n.Foreign))
	for r := range n.AllOn {
		on = append(on, r.Candidate())
	}
	return on
}
