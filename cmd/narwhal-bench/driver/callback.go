package driver

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// A callback is how a driver is called. It has methods that a driver should not show.
type callback struct{ *Driver }

var _ api.ResourceManagerCallback = callback{}

// UpdateAllocation takes placements, and confirms evictions at once.
func (c callback) UpdateAllocation(response *si.AllocationResponse) error {
	confirmations := c.hear(response)
	if len(confirmations) == 0 {
		return nil
	}
	return c.core.UpdateAllocation(&si.AllocationRequest{
		RmID: ID, Releases: &si.AllocationReleasesRequest{AllocationsToRelease: confirmations},
	})
}

func (d *Driver) hear(response *si.AllocationResponse) (confirmations []*si.AllocationRelease) {
	d.mu.Lock()
	defer d.mu.Unlock()
	news := 0
	for _, a := range response.New {
		d.remember(placed, a.AllocationKey, a.NodeID)
		news++
	}
	for _, r := range response.RejectedAllocations {
		d.remember(refused, r.AllocationKey, r.Reason)
	}
	for _, r := range response.Released {
		if r.TerminationType == si.TerminationType_STOPPED_BY_RM {
			continue // it answers a release that was sent
		}
		d.remember(evicted, r.AllocationKey, "")
		d.remember(released, r.AllocationKey, "")
		d.victims.add(1)
		confirmations = append(confirmations, &si.AllocationRelease{
			ApplicationID: r.ApplicationID, AllocationKey: r.AllocationKey, TerminationType: r.TerminationType,
		})
	}
	d.heard = time.Now()
	d.placed.add(news)
	return confirmations
}

func (c callback) UpdateApplication(response *si.ApplicationResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range response.Rejected {
		c.remember(refused, r.ApplicationID, r.Reason)
	}
	c.applications.add(len(response.Accepted))
	return nil
}

func (c callback) UpdateNode(response *si.NodeResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range response.Rejected {
		c.remember(refused, r.NodeID, r.Reason)
	}
	c.accepted.add(len(response.Accepted))
	return nil
}

func (c callback) Predicates(args *si.PredicatesArgs) error {
	if c.Refuses == nil {
		return nil
	}
	return c.Refuses(args.AllocationKey, args.NodeID)
}

// PreemptionPredicates agrees to the victims that are proposed.
func (c callback) PreemptionPredicates(args *si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return &si.PreemptionPredicatesResponse{Success: true, Index: args.StartIndex}
}

func (callback) SendEvent([]*si.EventRecord) {}

func (callback) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}
