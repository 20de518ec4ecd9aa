package question

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// SpareNeeded marks those victims of a plan for a node on other nodes which an ask needs beside it for which
// room is on its way there, of those that before lists for a node. It reports whether there are any:
// the plan is to be made again then, without them.
func (p *Predicates) SpareNeeded(on *preemptor.Node, plan *preemptor.Decision, here *ledger.Node, before func(*ledger.Node) []api.AllocationKey) (spared bool) {
	if p.Options.Simulate == nil {
		return false
	}
	removed := map[*ledger.Node][]api.AllocationKey{}
	for _, v := range plan.Victims {
		n := p.Requests[api.AllocationKey(v.Key)].RunsOn
		if n == here {
			continue // the plan itself has asked
		}
		asks := before(n)
		if len(asks) == 0 {
			continue
		}
		ending := KeysOf(n.OwnKeys((*ledger.Request).Releasing))
		if removed[n] == nil {
			removed[n] = ending
		}
		with := append(slices.Clip(removed[n]), api.AllocationKey(v.Key))
		spoils := func(other api.AllocationKey) bool { return p.Spoils(other, n, with, ending) != nil }
		if !slices.ContainsFunc(asks, spoils) {
			removed[n] = with
			continue
		}
		for i := range on.On {
			for c := &on.On[i]; c != nil; c = c.With {
				c.Needed = c.Needed || c.Key == v.Key
			}
		}
		spared = true
	}
	return spared
}

// AwaitedOn are the asks for which room is on its way on a node.
func AwaitedOn(n *ledger.Node) (keys []api.AllocationKey) {
	for _, r := range n.Claims {
		if r.Claim().Evicts {
			keys = append(keys, r.Key)
		}
	}
	return keys
}
