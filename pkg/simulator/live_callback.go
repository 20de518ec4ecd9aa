package simulator

import (
	"errors"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// What a pass can be asked and told. It selects no victims, and nominations are
// shown by the scheduler itself.
var (
	_ api.ResourceManagerCallback  = (*pass)(nil)
	_ scheduler.PredicateSimulator = (*pass)(nil)
	_ scheduler.DisruptionBudgeter = (*pass)(nil)
)

// errPassOver refuses every node when nobody is there to run anything.
var errPassOver = errors.New("the simulated cluster has ended")

// UpdateAllocation hears of placements, releases and asks that were refused.
func (p *pass) UpdateAllocation(response *si.AllocationResponse) error {
	p.hear(slices.Concat(effectsOf(response.New), effectsOf(response.Released), effectsOf(response.RejectedAllocations)))
	return nil
}

// UpdateApplication hears of applications that were refused or changed their state.
func (p *pass) UpdateApplication(response *si.ApplicationResponse) error {
	p.hear(slices.Concat(effectsOf(response.Rejected), effectsOf(response.Updated)))
	return nil
}

// UpdateNode hears of nodes that were refused.
func (p *pass) UpdateNode(response *si.NodeResponse) error {
	p.hear(effectsOf(response.Rejected))
	return nil
}

// effectsOf is a list of a response as the effects that it was made of.
func effectsOf[T any](list []T) core.Effects {
	effects := make(core.Effects, len(list))
	for i, one := range list {
		effects[i] = one
	}
	return effects
}

// hear takes in what the scheduler said, and wakes whoever sends what comes of it.
func (p *pass) hear(effects core.Effects) {
	if len(effects) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.cluster.setTime(p.time())
	for _, effect := range effects {
		if !p.cluster.crossed(effect) {
			p.cluster.deliver(core.Effects{effect})
		}
		p.settle()
	}
	select {
	case p.wake <- struct{}{}:
	default: // it is awake already
	}
}

// Predicates says whether a pod may run on a node now.
func (p *pass) Predicates(args *si.PredicatesArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return errPassOver
	}
	return p.cluster.feasible(core.AllocationKey(args.AllocationKey), core.NodeID(args.NodeID), args.Allocate)
}

// PredicatesWith says whether a pod may run on a node that is changed in thought.
func (p *pass) PredicatesWith(args *scheduler.PredicatesWithArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return errPassOver
	}
	return p.cluster.simulate(core.AllocationKey(args.AllocationKey), core.NodeID(args.NodeID), allocationKeysOf(args.Add), allocationKeysOf(args.Remove))
}

// PreemptionPredicates is not asked, as there is PredicatesWith.
func (p *pass) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}

// DisruptionBudgets says what is left of the budgets of the scenario.
func (p *pass) DisruptionBudgets(allocationKeys []string) []scheduler.DisruptionBudget {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []scheduler.DisruptionBudget
	for _, b := range p.cluster.allowances(allocationKeysOf(allocationKeys)) {
		one := scheduler.DisruptionBudget{Name: b.Name, Allowed: b.Allowed}
		for _, key := range b.Allocations {
			one.Allocations = append(one.Allocations, string(key))
		}
		out = append(out, one)
	}
	return out
}

// SendEvent does nothing: events are shown where the scheduler keeps them.
func (p *pass) SendEvent([]*si.EventRecord) {}

// UpdateContainerSchedulingState does nothing: a pod waits until it is placed.
func (p *pass) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

func allocationKeysOf(texts []string) []core.AllocationKey {
	keys := make([]core.AllocationKey, len(texts))
	for i, text := range texts {
		keys[i] = core.AllocationKey(text)
	}
	return keys
}
