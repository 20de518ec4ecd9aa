package simulator

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A budget is how many pods of some workloads may be down at once.
type budget struct {
	*Budget
	down *counter
}

// budgets are all of a scenario.
type budgets struct {
	books *books
	all   []*budget
}

// of lists the budgets of a workload.
func (bs *budgets) of(workload string) []*budget {
	var list []*budget
	for _, b := range bs.all {
		if slices.Contains(b.Workloads, workload) {
			list = append(list, b)
		}
	}
	return list
}

// markDown counts a pod as down: one whose predecessor ended too early, until it
// runs or is given up, or an evicted one that does not end, until it has ended.
func (bs *budgets) markDown(p *pod) { bs.setDown(p, true, 1) }

// markUp ends what markDown began.
func (bs *budgets) markUp(p *pod) { bs.setDown(p, false, -1) }

func (bs *budgets) setDown(p *pod, down bool, sign int64) {
	if p.down == down {
		return
	}
	p.down = down
	for _, b := range p.budgets {
		bs.books.change(b.down, sign)
	}
}

// allowances are the budgets, each with what is left of it and those of the pods that
// count for it.
func (bs *budgets) allowances(keys []api.AllocationKey, pods map[api.AllocationKey]*pod) []api.DisruptionBudget {
	all := make([]api.DisruptionBudget, len(bs.all))
	at := map[*budget]*api.DisruptionBudget{}
	for i, b := range bs.all {
		all[i] = api.DisruptionBudget{Name: b.Name, Allowed: max(b.Allowed-int(b.down.value), 0)}
		at[b] = &all[i]
	}
	for _, key := range keys {
		if p := pods[key]; p != nil {
			for _, b := range p.budgets {
				at[b].Allocations = append(at[b].Allocations, key)
			}
		}
	}
	return all
}
