package explain

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// allowances are disruption budgets in a dry run: evictions use them up.
type allowances struct {
	budgets []api.DisruptionBudget
	at      map[api.AllocationKey][]int // the budgets that an allocation counts for
}

func newAllowances(budgets []api.DisruptionBudget) *allowances {
	a := &allowances{slices.Clone(budgets), map[api.AllocationKey][]int{}}
	for i, b := range budgets {
		for _, key := range b.Allocations {
			a.at[key] = append(a.at[key], i)
		}
	}
	return a
}

// take counts an eviction.
func (a *allowances) take(key api.AllocationKey) {
	if a == nil {
		return
	}
	for _, i := range a.at[key] {
		a.budgets[i].Allowed = max(a.budgets[i].Allowed-1, 0)
	}
}

// of is the budgets that any of the allocations count for, with those of them that do.
func (a *allowances) of(allocations []api.AllocationKey) []api.DisruptionBudget {
	members := map[int][]api.AllocationKey{}
	var order []int
	for _, key := range allocations {
		for _, i := range a.at[key] {
			if members[i] == nil {
				order = append(order, i)
			}
			members[i] = append(members[i], key)
		}
	}
	out := make([]api.DisruptionBudget, len(order))
	for at, i := range order {
		out[at] = api.DisruptionBudget{Name: a.budgets[i].Name, Allowed: a.budgets[i].Allowed, Allocations: members[i]}
	}
	return out
}
