package schedulertest

import (
	"fmt"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// The messages of calls for which the interfaces have no type.
type (
	// Nominated is the message of Nominate, and without a node of ClearNomination.
	Nominated struct{ Key, Node string }
	// BudgetsOf is the message of DisruptionBudgets: the allocations.
	BudgetsOf []string
)

// callback is the recorder as a resource manager that implements what the options
// ask for. The scheduler knows it by its type.
func (r *recorder) callback() api.ResourceManagerCallback {
	if r.options.Plain {
		return struct{ api.ResourceManagerCallback }{r}
	}
	if r.options.PredicatesOnNodes == nil {
		return r.preempting()
	}
	several := nodesPredicates{r}
	switch c := r.preempting().(type) {
	case simulating:
		return struct {
			simulating
			nodesPredicates
		}{c, several}
	case selecting:
		return struct {
			selecting
			nodesPredicates
		}{c, several}
	case simulatingAndSelecting:
		return struct {
			simulatingAndSelecting
			nodesPredicates
		}{c, several}
	default:
		return struct {
			*recorder
			nodesPredicates
		}{r, several}
	}
}

// Recorders with interfaces of preemption that are not implemented otherwise.
type (
	simulating struct {
		*recorder
		simulator
	}
	selecting struct {
		*recorder
		selector
	}
	simulatingAndSelecting struct {
		*recorder
		simulator
		selector
	}
)

// preempting is the recorder with what the options ask for of preemption.
func (r *recorder) preempting() api.ResourceManagerCallback {
	simulates, selects := r.options.Simulates || r.options.PredicatesWith != nil, r.options.SelectVictims != nil
	switch {
	case simulates && selects:
		return simulatingAndSelecting{r, simulator{r}, selector{r}}
	case simulates:
		return simulating{r, simulator{r}}
	case selects:
		return selecting{r, selector{r}}
	default:
		return r
	}
}

var (
	_ scheduler.NominationCallback  = (*recorder)(nil)
	_ scheduler.DisruptionBudgeter  = (*recorder)(nil)
	_ scheduler.PredicateClassifier = (*recorder)(nil)
	_ scheduler.ForeignPodEnder     = (*recorder)(nil)
	_ scheduler.NodesPredicates     = nodesPredicates{}
	_ scheduler.PredicateSimulator  = simulator{}
	_ scheduler.VictimSelector      = selector{}
)

// EndsForeignPods implements scheduler.ForeignPodEnder.
func (r *recorder) EndsForeignPods() bool { return !r.options.KeepsForeign }

// PredicateClass implements scheduler.PredicateClassifier.
func (r *recorder) PredicateClass(allocationKey string) string {
	if r.options.PredicateClass == nil {
		return ""
	}
	return r.options.PredicateClass(allocationKey)
}

// A nodesPredicates is the recorder as a scheduler.NodesPredicates.
type nodesPredicates struct{ r *recorder }

func (n nodesPredicates) PredicatesOnNodes(args *scheduler.PredicatesOnNodesArgs) (answers []error) {
	_ = n.r.record(args, func() error {
		answers = n.r.options.PredicatesOnNodes(args)
		return nil
	})
	return answers
}

// Nominate implements scheduler.NominationCallback.
func (r *recorder) Nominate(allocationKey, nodeID string) {
	r.mu.Lock()
	r.nominated[allocationKey] = nodeID
	r.mu.Unlock()
	_ = r.record(Nominated{allocationKey, nodeID})
}

// ClearNomination implements scheduler.NominationCallback.
func (r *recorder) ClearNomination(allocationKey string) {
	r.mu.Lock()
	delete(r.nominated, allocationKey)
	r.mu.Unlock()
	_ = r.record(Nominated{Key: allocationKey})
}

// DisruptionBudgets implements scheduler.DisruptionBudgeter. An eviction of a member
// counts against its budget.
func (r *recorder) DisruptionBudgets(allocationKeys []string) []scheduler.DisruptionBudget {
	_ = r.record(BudgetsOf(slices.Clone(allocationKeys)))
	if r.options.DisruptionBudgets != nil {
		return r.options.DisruptionBudgets(allocationKeys)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var budgets []scheduler.DisruptionBudget
	for _, b := range r.options.Budgets {
		left := scheduler.DisruptionBudget{Name: b.Name, Allowed: b.Allowed}
		for _, key := range b.Allocations {
			if r.told[key] != nil {
				left.Allowed = max(left.Allowed-1, 0)
			}
			if slices.Contains(allocationKeys, key) {
				left.Allocations = append(left.Allocations, key)
			}
		}
		if len(left.Allocations) > 0 {
			budgets = append(budgets, left)
		}
	}
	return budgets
}

// A simulator is the recorder as a scheduler.PredicateSimulator.
type simulator struct{ r *recorder }

func (s simulator) PredicatesWith(args *scheduler.PredicatesWithArgs) error {
	then := []func() error{func() error { return s.r.conflict(args.AllocationKey, args.NodeID, args.Add, args.Remove) }}
	if also := s.r.options.PredicatesWith; also != nil {
		then = append(then, func() error { return also(args) })
	}
	return s.r.record(args, then...)
}

// A selector is the recorder as a scheduler.VictimSelector.
type selector struct{ r *recorder }

func (s selector) SelectVictims(args *scheduler.SelectVictimsArgs) (victims []string, err error) {
	err = s.r.record(args, func() error {
		victims, err = s.r.options.SelectVictims(args)
		return err
	})
	return victims, err
}

// conflict names an allocation that keeps an ask off a node to which some were added and
// from which some were taken away; nil if none does.
func (r *recorder) conflict(key, node string, add, remove []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.options.Conflicts[key] {
		there := r.placed[other] == node && !slices.Contains(remove, other)
		if there || slices.Contains(add, other) {
			return fmt.Errorf("conflicts with %s", other)
		}
	}
	return nil
}

// PreemptionPredicates implements api.ResourceManagerCallback: allocations are taken
// away one after the other until the ask has no conflict any more.
func (r *recorder) PreemptionPredicates(args *si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	if err := r.record(args); err != nil {
		return &si.PreemptionPredicatesResponse{}
	}
	if r.options.PreemptionPredicates != nil {
		return r.options.PreemptionPredicates(args)
	}
	keys := args.PreemptAllocationKeys
	for i := int(args.StartIndex); i < len(keys); i++ {
		if r.conflict(args.AllocationKey, args.NodeID, nil, keys[:i+1]) == nil {
			return &si.PreemptionPredicatesResponse{Success: true, Index: int32(i)}
		}
	}
	return &si.PreemptionPredicatesResponse{}
}

// lines are the texts of the messages that this file is about.
func lines(message any) []string {
	switch m := message.(type) {
	case Nominated:
		if m.Node == "" {
			return []string{fmt.Sprintf("allocation %s nominated no more", m.Key)}
		}
		return []string{fmt.Sprintf("allocation %s nominated to %s", m.Key, m.Node)}
	case *si.PreemptionPredicatesArgs:
		return []string{fmt.Sprintf("may %s run on %s without %v?", m.AllocationKey, m.NodeID, m.PreemptAllocationKeys)}
	case *scheduler.PredicatesOnNodesArgs:
		return []string{fmt.Sprintf("on which of %v may %s run?", m.NodeIDs, m.AllocationKey)}
	case *scheduler.PredicatesWithArgs:
		with := ""
		if len(m.Add) > 0 {
			with = fmt.Sprintf(" with %v", m.Add)
		}
		return []string{fmt.Sprintf("may %s run on %s%s without %v?", m.AllocationKey, m.NodeID, with, m.Remove)}
	case *scheduler.SelectVictimsArgs:
		return []string{fmt.Sprintf("which of %v make room for %s on %s?", m.Candidates, m.AllocationKey, m.NodeID)}
	case BudgetsOf:
		return []string{fmt.Sprintf("which budgets do %v have?", []string(m))}
	default:
		return []string{fmt.Sprint(m)}
	}
}

// isQuestion reports whether a call asks something.
func (c Call) isQuestion() bool {
	switch c.Message.(type) {
	case *si.PredicatesArgs, *si.PreemptionPredicatesArgs, *scheduler.PredicatesOnNodesArgs, *scheduler.PredicatesWithArgs, *scheduler.SelectVictimsArgs, BudgetsOf:
		return true
	default:
		return false
	}
}
