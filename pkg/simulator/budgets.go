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

// goDown counts a pod as down: one whose predecessor ended too early, until it
// runs or is given up, or one that does not go, until it has ended.
func (c *cluster) goDown(p *pod) { c.turnDown(p, true, 1) }

// backUp ends what goDown began.
func (c *cluster) backUp(p *pod) { c.turnDown(p, false, -1) }

func (c *cluster) turnDown(p *pod, down bool, sign int64) {
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
