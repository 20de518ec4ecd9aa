package question

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// Predicates are the questions to the resource manager: whether an ask may run on a
// node, now or without some allocations, and which disruption budgets there are.
type Predicates struct {
	*backlog.Backlog
	Calls   int                                  // in this batch
	Attempt *answers.Simulations                 // known in the attempt under way
	spare   answers.Simulations                  // of an attempt of which nothing was known before
	asked   bool                                 // the attempt has asked a question
	ties    tables.Table[*backlog.Class, uint64] // the batch that last placed what a class has ties to
	alone   tables.Table[backlog.Living, int]    // how often an ask of a class was refused beside another, one after the other
	Paused  bool                                 // a question of the attempt has to wait
	Held    time.Duration
}

// CallsMax is how often the resource manager is asked in one batch, so that commands
// are not kept waiting by asks that it refuses.
const CallsMax = 4096

// BeginBatch counts the questions of a batch.
func (p *Predicates) BeginBatch() { p.Calls = 0 }

// Any reports whether the resource manager has a say in the choice of victims.
func (p *Predicates) Any() bool {
	return p.Filters() || p.Options.SelectVictims != nil
}

// Filters reports whether the resource manager says on which nodes an ask may run.
func (p *Predicates) Filters() bool { return p.Options.Feasible != nil || p.Options.Simulate != nil }

// Refuses reports whether the resource manager has refused a class on any node, now that an attempt for
// it has failed.
func (p *Predicates) Refuses(c *backlog.Class) bool {
	return p.Any() && (c.Refused != nil || p.Attempt.Refused())
}

// BudgetsBind reports whether disruption budgets may keep allocations from being
// evicted.
func (p *Predicates) BudgetsBind() bool {
	return p.Options.Budgets != nil && p.Preemption.Budgets == preemptor.HardBudgets
}

// Wait is how long to wait before a question may be asked.
func (p *Predicates) Wait(q api.Question) time.Duration {
	if p.Options.Pace == nil {
		return 0
	}
	return p.Options.Pace(q)
}

// MustHear reports whether the resource manager must hear first what was done in this batch, before
// it is asked about an ask and a node.
func (p *Predicates) MustHear(r *ledger.Request, n *ledger.Node) bool {
	return n.PlacedIn == p.Batch || p.IsTied(r)
}

// IsTied reports whether answers about an ask may change on any node by what was placed in this batch.
func (p *Predicates) IsTied(r *ledger.Request) bool {
	c := p.ClassOf(r)
	return p.ties.Get(c.Slot, c) == p.Batch
}

// Check asks about an ask and a node. The answer is flush if the resource manager
// must hear first what was done in this batch.
func (p *Predicates) Check(r *ledger.Request, n *ledger.Node, allocate bool) (Outcome, error) {
	if p.Options.Feasible == nil {
		return Placed, nil
	}
	if p.MustHear(r, n) {
		return Flush, nil
	}
	if err := p.Ask(r, n, allocate); err != nil {
		return Waits, err
	}
	return Placed, nil
}

// Ask asks about an ask and a node, as the resource manager knows the node. The answer is nil if it agrees.
func (p *Predicates) Ask(r *ledger.Request, n *ledger.Node, allocate bool) error {
	if p.Options.Feasible == nil {
		return nil
	}
	p.Calls++
	return p.checked(r, n, allocate, p.Options.Feasible(r.Key, n.ID, allocate))
}

// checked takes the answer about a node. If it is yes, it asks again with those asks
// added that are nominated to the node and come before.
func (p *Predicates) checked(r *ledger.Request, n *ledger.Node, allocate bool, err error) error {
	if err != nil || p.Options.Simulate == nil || !allocate {
		return err
	}
	if added := r.ExpectedBefore(n); len(added) > 0 {
		return p.Options.Simulate(r.Key, n.ID, added, nil)
	}
	return nil
}

// KeysOf are texts as keys. Nil stays nil: that nothing was removed is another question than
// what happens to be none.
func KeysOf(texts []string) []api.AllocationKey {
	if texts == nil {
		return nil
	}
	keys := make([]api.AllocationKey, len(texts))
	for i, text := range texts {
		keys[i] = api.AllocationKey(text)
	}
	return keys
}

// FeasibleAfterEvictions reports whether the resource manager will agree to an ask on
// a node once all evictions there have ended.
func (p *Predicates) FeasibleAfterEvictions(r *ledger.Request, n *ledger.Node) bool {
	gone := n.OwnKeys((*ledger.Request).Releasing)
	return len(gone) > 0 && (p.Options.Simulate == nil || p.Simulate(r, n, KeysOf(gone)) == nil)
}

// AddBudgets adds the disruption budgets of the candidates on a node, also of those that
// another scheduler placed.
func (p *Predicates) AddBudgets(on *preemptor.Node) {
	if p.Options.Budgets == nil {
		return
	}
	keys := make([]api.AllocationKey, 0, len(on.On))
	at := make(map[string]*preemptor.Candidate, len(on.On))
	for i := range on.On {
		for c := &on.On[i]; c != nil; c = c.With {
			at[c.Key] = c
			keys = append(keys, api.AllocationKey(c.Key))
		}
	}
	slices.Sort(keys)
	budgets := p.Options.Budgets(keys)
	slices.SortFunc(budgets, func(a, b api.DisruptionBudget) int { return strings.Compare(a.Name, b.Name) })
	for _, b := range budgets {
		number := int32(len(on.Budgets))
		on.Budgets = append(on.Budgets, preemptor.Budget{Name: b.Name, Allowed: max(b.Allowed, 0)})
		for _, key := range b.Allocations {
			if c := at[string(key)]; c != nil && !slices.Contains(c.Budgets, number) {
				c.Budgets = append(c.Budgets, number)
			}
		}
	}
}

// The constraints of an ask that is like no other begin with OwnClass. Those that the
// resource manager names never do.
const escaped = ":"

// ConstraintsOf asks the resource manager what an ask requires of nodes.
func (p *Predicates) ConstraintsOf(r *ledger.Request) string {
	if p.Options.Constraints == nil || r.Required != "" {
		return ""
	}
	constraints := p.Options.Constraints(r.Key)
	if strings.HasPrefix(constraints, backlog.OwnClass) || strings.HasPrefix(constraints, escaped) {
		constraints = escaped + constraints
	}
	return constraints
}
