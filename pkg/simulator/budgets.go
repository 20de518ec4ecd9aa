package simulator

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A budget is how many pods of some workloads may be down at once.
type budget struct {
	*Budget
	down *counter
}

// budgetsOf lists the budgets of a workload.
func (c *cluster) budgetsOf(workload string) []*budget {
	var list []*budget
	for _, b := range c.budgets {
		if slices.Contains(b.Workloads, workload) {
			list = append(list, b)
		}
	}
	return list
}

// markDown counts a pod as down: one whose predecessor ended too early, until it
// runs or is given up, or an evicted one that does not end, until it has ended.
func (c *cluster) markDown(p *pod) { c.setDown(p, true, 1) }

// markUp ends what markDown began.
func (c *cluster) markUp(p *pod) { c.setDown(p, false, -1) }

func (c *cluster) setDown(p *pod, down bool, sign int64) {
	if p.down == down {
		return
	}
	p.down = down
	for _, b := range p.budgets {
		c.books.change(b.down, sign)
	}
}

// allowances is the answer to the question which budgets pods count for: of each
// as much as is left of it.
func (c *cluster) allowances(keys []core.AllocationKey) []core.DisruptionBudget {
	all := make([]core.DisruptionBudget, len(c.budgets))
	at := map[*budget]*core.DisruptionBudget{}
	for i, b := range c.budgets {
		all[i] = core.DisruptionBudget{Name: b.Name, Allowed: max(b.Allowed-int(b.down.value), 0)}
		at[b] = &all[i]
	}
	for _, key := range keys {
		if p := c.pods[key]; p != nil {
			for _, b := range p.budgets {
				at[b].Allocations = append(at[b].Allocations, key)
			}
		}
	}
	return all
}
