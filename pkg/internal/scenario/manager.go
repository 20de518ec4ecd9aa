package scenario

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A manager is the resource manager of a scenario. It answers from the events that
// it has heard of.
type manager struct {
	refusals  map[pair]error
	conflicts map[pair]bool // of two allocations, both ways
	needs     map[pair]bool // that the other runs on the same node
	budgets   []*budget     // in the order of the scenario
	choices   map[api.AllocationKey][]api.AllocationKey
	classes   map[api.AllocationKey]string          // of asks that are answered alike
	ties      map[api.AllocationKey][]string        // the classes that change as it comes or goes
	suits     map[api.AllocationKey][]api.NodeID    // the best nodes, the best first
	places    map[api.AllocationKey]api.NodeID      // of what runs
	sent      map[api.AllocationKey]*api.Allocation // as last sent and not refused
	causes    map[api.AllocationKey]api.EndCause    // of what is to end because of its gang
}

// A pair is an allocation and a node, or two allocations; * stands for any.
type pair struct{ allocation, node string }

// A budget is a disruption budget. Evicted allocations count against it.
type budget struct {
	api.DisruptionBudget
	evicted map[api.AllocationKey]bool
}

func newManager() *manager {
	return &manager{
		refusals:  map[pair]error{},
		conflicts: map[pair]bool{},
		needs:     map[pair]bool{},
		choices:   map[api.AllocationKey][]api.AllocationKey{},
		classes:   map[api.AllocationKey]string{},
		ties:      map[api.AllocationKey][]string{},
		suits:     map[api.AllocationKey][]api.NodeID{},
		places:    map[api.AllocationKey]api.NodeID{},
		sent:      map[api.AllocationKey]*api.Allocation{},
		causes:    map[api.AllocationKey]api.EndCause{},
	}
}

// A refusal is an answer that the end of no allocation would change.
type refusal string

func (r refusal) Error() string      { return string(r) }
func (r refusal) Unresolvable() bool { return true }

// observe takes note of what the scheduler has done.
func (m *manager) observe(event api.Event) {
	switch e := event.(type) {
	case api.Placed:
		m.places[e.Key] = e.Node
	case api.Adopted:
		m.places[e.Key] = e.Node
	case api.ForeignAdded:
		m.places[e.Key] = e.Node
	case api.ForeignRemoved:
		delete(m.places, e.Key)
	case *api.Ended:
		delete(m.places, e.Key)
	case *api.ReleaseRequested:
		m.causes[e.Key] = e.Cause
	case *api.EvictionRequested:
		for _, b := range m.budgets {
			if slices.Contains(b.Allocations, e.Key) {
				b.evicted[e.Key] = true
			}
		}
	}
}

// toldToEnd is why an allocation is to end.
func (m *manager) toldToEnd(key api.AllocationKey) si.TerminationType {
	switch cause, is := m.causes[key]; {
	case is && cause == api.CauseReplaced:
		return si.TerminationType_PLACEHOLDER_REPLACED
	case is:
		return si.TerminationType_TIMEOUT
	}
	return si.TerminationType_PREEMPTED_BY_SCHEDULER
}

// accepted is an allocation as it was last sent and not refused.
func (m *manager) accepted(key api.AllocationKey) (*api.Allocation, error) {
	last, ok := m.sent[key]
	if !ok {
		return nil, fmt.Errorf("%s was never accepted", key)
	}
	return last, nil
}

// feasible is the question about a placement now. Whether others are in the way
// is no matter for a reservation.
func (m *manager) feasible(key api.AllocationKey, node api.NodeID, allocate bool) error {
	if !allocate {
		return m.refused(key, node)
	}
	return m.simulate(key, node, nil, nil)
}

func (m *manager) refused(key api.AllocationKey, node api.NodeID) error {
	who := m.asked(key)
	for _, p := range []pair{{who, string(node)}, {who, "*"}, {"*", string(node)}, {"*", "*"}} {
		if err, is := m.refusals[p]; is {
			return err
		}
	}
	return nil
}

// asked is under which name a refusal of an allocation is kept: that of those that are answered alike, or its own.
func (m *manager) asked(key api.AllocationKey) string {
	if class := m.classes[key]; class != "" {
		return "alike " + class
	}
	return string(key)
}

func (m *manager) classOf(key api.AllocationKey) string { return m.classes[key] }

// bestOf is the nodes of the scenario, as far as they are shown.
func (m *manager) bestOf(key api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) (best []api.NodeID) {
	shown := map[api.NodeID]bool{}
	for node := range nodes {
		shown[node] = true
	}
	for _, node := range m.suits[key] {
		if shown[node] && len(best) < most {
			best = append(best, node)
		}
	}
	return best
}

func (m *manager) simulate(key api.AllocationKey, node api.NodeID, add, remove []api.AllocationKey) error {
	if err := m.refused(key, node); err != nil {
		return err
	}
	var there []string
	for other, at := range m.places {
		if at == node && !slices.Contains(remove, other) {
			there = append(there, string(other))
		}
	}
	for _, other := range add {
		there = append(there, string(other))
	}
	slices.Sort(there)
	for _, other := range there {
		if m.conflicts[pair{string(key), other}] {
			return fmt.Errorf("conflicts with %s", other)
		}
	}
	return m.missing(key, there)
}

// missing says which allocations one needs on its node that are not there.
func (m *manager) missing(key api.AllocationKey, there []string) error {
	var missed []string
	for p := range m.needs {
		if p.allocation == string(key) && !slices.Contains(there, p.node) {
			missed = append(missed, p.node)
		}
	}
	if len(missed) == 0 {
		return nil
	}
	slices.Sort(missed)
	return fmt.Errorf("needs %s beside it", strings.Join(missed, ", "))
}

// budgetsOf is what is left of the budgets that any of the allocations count for.
func (m *manager) budgetsOf(keys []api.AllocationKey) []api.DisruptionBudget {
	var left []api.DisruptionBudget
	for _, b := range m.budgets {
		of := api.DisruptionBudget{Name: b.Name, Allowed: max(b.Allowed-len(b.evicted), 0)}
		for _, key := range b.Allocations {
			if slices.Contains(keys, key) {
				of.Allocations = append(of.Allocations, key)
			}
		}
		if len(of.Allocations) > 0 {
			left = append(left, of)
		}
	}
	return left
}

// selectVictims is the choice of the resource manager, from the scenario.
func (m *manager) selectVictims(ask api.AllocationKey, _ api.NodeID, _ []api.AllocationKey, _ []bool) ([]api.AllocationKey, error) {
	chosen, ok := m.choices[ask]
	if !ok {
		return nil, fmt.Errorf("no victims are chosen for %s", ask)
	}
	return chosen, nil
}
