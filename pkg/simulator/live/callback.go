package live

import (
	"errors"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// The interfaces of a session. It selects no victims, and nominations are shown by
// the scheduler itself.
var (
	_ siapi.ResourceManagerCallback = (*session)(nil)
	_ scheduler.PredicateClassifier = (*session)(nil)
	_ scheduler.PredicateSimulator  = (*session)(nil)
	_ scheduler.DisruptionBudgeter  = (*session)(nil)
)

// errSessionOver refuses every node when the cluster has ended.
var errSessionOver = errors.New("the simulated cluster has ended")

// UpdateAllocation takes in placements, releases and asks that were refused.
func (p *session) UpdateAllocation(response *si.AllocationResponse) error {
	var events api.Effects
	for _, a := range response.New {
		events = append(events, api.Placed{Allocation: &api.Allocation{
			Key: api.AllocationKey(a.AllocationKey), Application: api.ApplicationID(a.ApplicationID), Node: api.NodeID(a.NodeID),
		}})
	}
	for _, r := range response.Released {
		events = append(events, releaseEvent(r))
	}
	for _, r := range response.RejectedAllocations {
		events = append(events, &api.AllocationRejected{
			Key: api.AllocationKey(r.AllocationKey), Application: api.ApplicationID(r.ApplicationID), Reason: r.Reason,
		})
	}
	p.observe(events)
	return nil
}

// UpdateApplication takes in applications that were refused or changed their state.
func (p *session) UpdateApplication(response *si.ApplicationResponse) error {
	var events api.Effects
	for _, r := range response.Rejected {
		events = append(events, &api.ApplicationRejected{ID: api.ApplicationID(r.ApplicationID), Reason: r.Reason})
	}
	for _, u := range response.Updated {
		events = append(events, &api.ApplicationChanged{ID: api.ApplicationID(u.ApplicationID), State: stateOf(u.State)})
	}
	p.observe(events)
	return nil
}

// UpdateNode takes in nodes that were refused.
func (p *session) UpdateNode(response *si.NodeResponse) error {
	var events api.Effects
	for _, r := range response.Rejected {
		events = append(events, &api.NodeRejected{ID: api.NodeID(r.NodeID), Reason: r.Reason})
	}
	p.observe(events)
	return nil
}

// releaseEvent is the event that a release was made of: an eviction that the
// scheduler requests, or the end of an allocation. A foreign one has no application.
func releaseEvent(r *si.AllocationRelease) api.Event {
	a := &api.Allocation{Key: api.AllocationKey(r.AllocationKey), Application: api.ApplicationID(r.ApplicationID)}
	if a.Application == "" {
		a.Origin = api.Foreign
	}
	switch r.TerminationType {
	case si.TerminationType_PREEMPTED_BY_SCHEDULER:
		return &api.EvictionRequested{Allocation: a, Message: r.Message}
	case si.TerminationType_PLACEHOLDER_REPLACED:
		return &api.ReleaseRequested{Allocation: a, Cause: api.CauseReplaced, Message: r.Message}
	case si.TerminationType_TIMEOUT:
		return &api.ReleaseRequested{Allocation: a, Cause: api.CauseTimedOut, Message: r.Message}
	default:
	}
	return &api.Ended{Allocation: a, Cause: api.CauseReleased, Message: r.Message}
}

// stateOf is the state with a name; New for names that are not known.
func stateOf(name string) api.State {
	for state := api.New; state <= api.Failed; state++ {
		if state.String() == name {
			return state
		}
	}
	return api.New
}

// observe takes in what the scheduler did, and wakes play to send what comes of it.
func (p *session) observe(events api.Effects) {
	if len(events) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	now := p.time()
	for _, event := range events {
		p.cluster.Observe(now, event)
		p.reportBreach()
	}
	select {
	case p.wake <- struct{}{}:
	default: // it is awake already
	}
}

// EndsForeignPods says that pods of other schedulers end when they are released.
func (p *session) EndsForeignPods() bool { return true }

// PredicateClass names the pods that get the same answers as a pod.
func (p *session) PredicateClass(allocationKey string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cluster.PredicateClass(api.AllocationKey(allocationKey))
}

// Predicates says whether a pod may run on a node now. One that was taken back may:
// the answer holds for its class, and the scheduler learns of its end soon.
func (p *session) Predicates(args *si.PredicatesArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return errSessionOver
	}
	if !p.cluster.Has(api.AllocationKey(args.AllocationKey)) {
		return nil
	}
	return p.cluster.Feasible(api.AllocationKey(args.AllocationKey), api.NodeID(args.NodeID))
}

// PredicatesWith says whether a pod may run on a node with hypothetical changes.
func (p *session) PredicatesWith(args *scheduler.PredicatesWithArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return errSessionOver
	}
	return p.cluster.Simulate(api.AllocationKey(args.AllocationKey), api.NodeID(args.NodeID), allocationKeysOf(args.Add), allocationKeysOf(args.Remove))
}

// PreemptionPredicates is not asked, as there is PredicatesWith.
func (p *session) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}

// DisruptionBudgets says what is left of the budgets of the scenario.
func (p *session) DisruptionBudgets(allocationKeys []string) []scheduler.DisruptionBudget {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []scheduler.DisruptionBudget
	for _, b := range p.cluster.Budgets(allocationKeysOf(allocationKeys)) {
		one := scheduler.DisruptionBudget{Name: b.Name, Allowed: b.Allowed}
		for _, key := range b.Allocations {
			one.Allocations = append(one.Allocations, string(key))
		}
		out = append(out, one)
	}
	return out
}

// SendEvent does nothing: events are shown where the scheduler keeps them.
func (p *session) SendEvent([]*si.EventRecord) {}

// UpdateContainerSchedulingState does nothing: a pod waits until it is placed.
func (p *session) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

func allocationKeysOf(texts []string) []api.AllocationKey {
	keys := make([]api.AllocationKey, len(texts))
	for i, text := range texts {
		keys[i] = api.AllocationKey(text)
	}
	return keys
}
