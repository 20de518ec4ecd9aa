package core

import (
	"errors"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// simulation asks the resource manager whether an ask may run on a node without
// some allocations: with those who are nominated there and come first, and, since
// they are not there yet, also without.
func (p *Partition) simulation(r *request, n *node) func([]string) error {
	added := r.before(n)
	ask := func(removed []AllocationKey) error {
		switch {
		case p.options.Simulate == nil:
			return p.options.Feasible(r.Key, n.id, len(removed) == 0)
		case len(added) > 0:
			if err := p.options.Simulate(r.Key, n.id, added, removed); err != nil {
				return err
			}
		}
		return p.options.Simulate(r.Key, n.id, nil, removed)
	}
	return func(gone []string) error {
		p.consents++
		removed := make([]AllocationKey, len(gone))
		for i, key := range gone {
			removed[i] = AllocationKey(key)
		}
		err := ask(removed)
		r.remember(n, err)
		return err
	}
}

// before lists the asks that are nominated to a node and come before another one.
func (r *request) before(n *node) []AllocationKey {
	var keys []AllocationKey
	for _, other := range n.nominated {
		if other != r && other.holds() >= r.standing() {
			keys = append(keys, other.Key)
		}
	}
	return keys
}

// comesFree reports whether the resource manager will agree to an ask on a node
// once all have gone who are going.
func (p *Partition) comesFree(r *request, n *node) bool {
	var gone []string
	for _, other := range byKey(n.own) {
		if other.leaves() {
			gone = append(gone, string(other.Key))
		}
	}
	return len(gone) > 0 && (p.options.Simulate == nil || p.simulation(r, n)(gone) == nil)
}

// remember keeps in mind that an ask may not run on a node whoever goes, if the
// resource manager says so. It is asked again when the ask has rested.
func (r *request) remember(n *node, err error) {
	var never interface{ Unresolvable() bool }
	if !errors.As(err, &never) || !never.Unresolvable() {
		return
	}
	w := r.waiting()
	if w.never == nil {
		w.never = map[*node]bool{}
	}
	w.never[n] = true
}

// neverOn reports whether the ask may not run on a node whoever goes.
func (r *request) neverOn(n *node) bool { return r.wait != nil && r.wait.never[n] }

// planByVictims has the resource manager choose the victims on a node. It says
// false where there is nobody to choose from.
func (p *Partition) planByVictims(g *ground, r *request, n *node, on preemptor.Node) (preemptor.Decision, bool) {
	ask := g.askOf(r)
	list, violating := p.planner.Candidates(p.plans[g.trigger], ask, on)
	if len(list) == 0 {
		return preemptor.Decision{}, false
	}
	keys := make([]AllocationKey, len(list))
	for i, key := range list {
		keys[i] = AllocationKey(key)
	}
	p.consents++
	chosen, err := p.options.SelectVictims(r.Key, n.id, keys, violating)
	if err != nil {
		return p.planner.Refuse(p.plans[g.trigger], ask, on, err.Error()), true
	}
	victims := make([]string, len(chosen))
	for i, key := range chosen {
		victims[i] = string(key)
	}
	return p.planner.Accept(p.plans[g.trigger], ask, on, victims), true
}

// addBudgets adds the disruption budgets of those in a quarry.
func (p *Partition) addBudgets(on *preemptor.Node) {
	if p.options.Budgets == nil {
		return
	}
	keys := make([]AllocationKey, 0, len(on.On))
	at := make(map[string]int, len(on.On))
	for i := range on.On {
		if c := &on.On[i]; !c.Foreign {
			at[c.Key] = i
			keys = append(keys, AllocationKey(c.Key))
		}
	}
	slices.Sort(keys)
	budgets := p.options.Budgets(keys)
	slices.SortFunc(budgets, func(a, b DisruptionBudget) int { return strings.Compare(a.Name, b.Name) })
	for _, b := range budgets {
		number := int32(len(on.Budgets))
		on.Budgets = append(on.Budgets, preemptor.Budget{Name: b.Name, Allowed: max(b.Allowed, 0)})
		for _, key := range b.Allocations {
			if i, ok := at[string(key)]; ok && !slices.Contains(on.On[i].Budgets, number) {
				on.On[i].Budgets = append(on.On[i].Budgets, number)
			}
		}
	}
}
