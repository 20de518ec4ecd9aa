package schedulertest

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// What the options say is what the scheduler finds, in every combination.
func TestTheTypeOfTheResourceManager(t *testing.T) {
	with := func(*scheduler.PredicatesWithArgs) error { return nil }
	victims := func(*scheduler.SelectVictimsArgs) ([]string, error) { return nil, nil }
	several := func(*scheduler.PredicatesOnNodesArgs) []error { return nil }
	for _, c := range []struct {
		options                                Options
		nominations, budgets, simulates, picks bool
	}{
		{Options{}, true, true, false, false},
		{Options{Plain: true, Simulates: true, SelectVictims: victims}, false, false, false, false},
		{Options{Simulates: true}, true, true, true, false},
		{Options{PredicatesWith: with}, true, true, true, false},
		{Options{SelectVictims: victims}, true, true, false, true},
		{Options{SelectVictims: victims, Simulates: true}, true, true, true, true},
	} {
		for _, onNodes := range []func(*scheduler.PredicatesOnNodesArgs) []error{nil, several} {
			c.options.PredicatesOnNodes = onNodes
			callback := newRecorder(nil, c.options).callback()
			_, nominations := callback.(scheduler.NominationCallback)
			_, budgets := callback.(scheduler.DisruptionBudgeter)
			_, simulates := callback.(scheduler.PredicateSimulator)
			_, picks := callback.(scheduler.VictimSelector)
			assert.DeepEqual(t, []bool{nominations, budgets, simulates, picks}, []bool{c.nominations, c.budgets, c.simulates, c.picks})
			_, classes := callback.(scheduler.PredicateClassifier)
			_, asked := callback.(scheduler.NodesPredicates)
			assert.DeepEqual(t, []bool{classes, asked}, []bool{!c.options.Plain, onNodes != nil && !c.options.Plain})
		}
	}
}

// recording is a recorder that knows of three pods, and an ask that two of them are in
// conflict with.
func recording(options Options) *recorder {
	options.Conflicts = map[string][]string{"ask": {"a", "b"}}
	r := newRecorder(nil, options)
	for _, key := range []string{"a", "b", "c"} {
		r.placed[key] = "node-1"
	}
	return r
}

// Every question about nodes has the same answer.
func TestConflicts(t *testing.T) {
	r := recording(Options{})
	s := simulator{r}
	assert.Error(t, r.Predicates(&si.PredicatesArgs{AllocationKey: "ask", NodeID: "node-1", Allocate: true}), "conflicts with a")
	assert.NilError(t, r.Predicates(&si.PredicatesArgs{AllocationKey: "ask", NodeID: "node-1"}))
	assert.NilError(t, r.Predicates(&si.PredicatesArgs{AllocationKey: "ask", NodeID: "node-2", Allocate: true}))
	for _, c := range []struct {
		remove []string
		from   int32
		yes    bool
		index  int32
		refuse string // of PredicatesWith
	}{
		{[]string{"a", "b", "c"}, 2, true, 2, ""},
		{[]string{"a", "b", "c"}, 0, true, 1, ""},
		{[]string{"c", "b", "a"}, 0, true, 2, ""},
		{[]string{"b"}, 0, false, 0, "conflicts with a"},
		{[]string{"c", "a"}, 1, false, 0, "conflicts with b"},
	} {
		got := r.PreemptionPredicates(&si.PreemptionPredicatesArgs{
			AllocationKey: "ask", NodeID: "node-1", PreemptAllocationKeys: c.remove, StartIndex: c.from,
		})
		assert.Equal(t, got.Success, c.yes, "%v", c.remove)
		assert.Equal(t, got.Index, c.index, "%v", c.remove)
		err := s.PredicatesWith(&scheduler.PredicatesWithArgs{AllocationKey: "ask", NodeID: "node-1", Remove: c.remove})
		assert.Equal(t, fmt.Sprint(err), map[bool]string{true: "<nil>", false: c.refuse}[c.refuse == ""])
	}
	added := &scheduler.PredicatesWithArgs{AllocationKey: "ask", NodeID: "node-2", Add: []string{"b"}}
	assert.Error(t, s.PredicatesWith(added), "conflicts with b")
}

// What a test answers itself comes after what follows from the conflicts.
func TestAnswersOfATest(t *testing.T) {
	cannot := func(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse { return nil }
	no := errors.New("no")
	r := recording(Options{PreemptionPredicates: cannot, PredicatesWith: func(*scheduler.PredicatesWithArgs) error { return no }})
	assert.Assert(t, r.PreemptionPredicates(&si.PreemptionPredicatesArgs{}) == nil)
	assert.Equal(t, simulator{r}.PredicatesWith(&scheduler.PredicatesWithArgs{AllocationKey: "ask", NodeID: "node-2"}), no)
	assert.Error(t, simulator{r}.PredicatesWith(&scheduler.PredicatesWithArgs{AllocationKey: "ask", NodeID: "node-1"}), "conflicts with a")
	assert.Equal(t, len(r.all()), 3)
}

// A budget allows one less for each eviction of a member.
func TestBudgetsOfTheMock(t *testing.T) {
	r := recording(Options{Budgets: []scheduler.DisruptionBudget{
		{Name: "web", Allowed: 1, Allocations: []string{"a", "b", "gone"}},
		{Name: "other", Allowed: 1, Allocations: []string{"x"}},
	}})
	want := []scheduler.DisruptionBudget{{Name: "web", Allowed: 1, Allocations: []string{"a", "b"}}}
	assert.DeepEqual(t, r.DisruptionBudgets([]string{"c", "b", "a"}), want)
	for _, key := range []string{"a", "gone"} {
		r.told[key] = &si.AllocationRelease{}
		want[0].Allowed = 0
		assert.DeepEqual(t, r.DisruptionBudgets([]string{"c", "b", "a"}), want)
	}
	assert.Equal(t, len(r.DisruptionBudgets([]string{"c"})), 0)
}

// Nominations are known until they are cleared, or the ask is placed.
func TestNominationsOfTheMock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(t, Options{})
		m.Heard()
		m.heard.Nominate("a", "node-1")
		m.heard.Nominate("b", "node-2")
		node, ok := m.Nominated("a")
		assert.Assert(t, ok && node == "node-1")
		m.heard.ClearNomination("a")
		assert.NilError(t, m.heard.UpdateAllocation(&si.AllocationResponse{New: []*si.Allocation{{AllocationKey: "b", NodeID: "node-3"}}}))
		for _, key := range []string{"a", "b"} {
			_, ok := m.Nominated(key)
			assert.Assert(t, !ok, key)
		}
		m.heard.DisruptionBudgets([]string{"x"})
		assert.DeepEqual(t, m.Heard(), []string{
			"allocation a nominated to node-1", "allocation b nominated to node-2",
			"allocation a nominated no more", "allocation b placed on node-3",
		})
		assert.DeepEqual(t, m.Asked(), []string{"which budgets do [x] have?"})
	})
}
