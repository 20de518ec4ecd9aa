package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// plain is a resource manager with nothing but predicates. It says what it was asked.
type plain struct {
	siapi.ResourceManagerCallback
	asked      []string
	refuses    error
	preemption func(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse
}

func (p *plain) Predicates(a *si.PredicatesArgs) error {
	p.asked = append(p.asked, fmt.Sprintf("%s on %s allocate=%t", a.AllocationKey, a.NodeID, a.Allocate))
	return p.refuses
}

func (p *plain) PreemptionPredicates(a *si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	p.asked = append(p.asked, fmt.Sprintf("%s on %s without %v from %d", a.AllocationKey, a.NodeID, a.PreemptAllocationKeys, a.StartIndex))
	return p.preemption(a)
}

// able is a resource manager that can answer everything.
type able struct {
	plain
	with    func(*PredicatesWithArgs) error
	victims func(*SelectVictimsArgs) ([]string, error)
	budgets func([]string) []DisruptionBudget
}

func (a *able) PredicatesWith(args *PredicatesWithArgs) error { return a.with(args) }

func (a *able) SelectVictims(args *SelectVictimsArgs) ([]string, error) { return a.victims(args) }

func (a *able) DisruptionBudgets(keys []string) []DisruptionBudget { return a.budgets(keys) }

// asking is a gate, and what it logs from a level on.
func asking(callback siapi.ResourceManagerCallback) (*predicateGate, *observer.ObservedLogs) {
	logs, seen := observer.New(zap.WarnLevel)
	return newPredicateGate(newOutbox(meter{}), callback, zap.New(logs)), seen
}

// warnings are the problems that were logged.
func warnings(seen *observer.ObservedLogs) []string {
	lines := []string{}
	for _, entry := range seen.TakeAll() {
		fields := entry.ContextMap()
		lines = append(lines, fmt.Sprintf("%v: %v", fields["question"], fields["problem"]))
	}
	return lines
}

// PreemptionPredicates answers for a node without some allocations: they are removed all
// at once, and the check is made once.
func TestSimulatingByPrefix(t *testing.T) {
	no := errors.New("no")
	answer := func(success bool, index int32) *si.PreemptionPredicatesResponse {
		return &si.PreemptionPredicatesResponse{Success: success, Index: index}
	}
	three := []api.AllocationKey{"a", "b", "c"}
	for _, c := range []struct {
		name    string
		remove  []api.AllocationKey
		refuses error
		answer  *si.PreemptionPredicatesResponse
		asked   []string
		want    error
		warned  []string
	}{
		{"none removed, yes", nil, nil, nil, []string{"pod on node-1 allocate=true"}, nil, nil},
		{"none removed, no", nil, no, nil, []string{"pod on node-1 allocate=true"}, no, nil},
		{"one removed, yes", three[:1], no, answer(true, 0), []string{"pod on node-1 without [a] from 0"}, nil, nil},
		{"three removed, yes", three, no, answer(true, 2), []string{"pod on node-1 without [a b c] from 2"}, nil, nil},
		{"three removed, yes with fewer", three, no, answer(true, 0), []string{"pod on node-1 without [a b c] from 2"}, nil, nil},
		{"three removed, no", three, nil, answer(false, 2), []string{"pod on node-1 without [a b c] from 2"}, errStillRefused, nil},
		{
			"cannot simulate, yes", three, nil, nil,
			[]string{"pod on node-1 without [a b c] from 2", "pod on node-1 allocate=false"},
			nil, nil,
		},
		{
			"cannot simulate, no", three, no, nil,
			[]string{"pod on node-1 without [a b c] from 2", "pod on node-1 allocate=false"},
			no, nil,
		},
		{
			"an index of none", three, nil, answer(true, 3),
			[]string{"pod on node-1 without [a b c] from 2"},
			errStillRefused,
			[]string{"PreemptionPredicates: index of no allocation"},
		},
		{
			"an index below all", three, nil, answer(true, -1),
			[]string{"pod on node-1 without [a b c] from 2"},
			errStillRefused,
			[]string{"PreemptionPredicates: index of no allocation"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rm := &plain{refuses: c.refuses, preemption: func(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse { return c.answer }}
			g, seen := asking(rm)
			// What is added cannot be told.
			assert.Equal(t, g.simulate("pod", "node-1", []api.AllocationKey{"other"}, c.remove), c.want)
			assert.DeepEqual(t, rm.asked, c.asked)
			assert.DeepEqual(t, warnings(seen), append([]string{}, c.warned...))
		})
	}
}

// A resource manager that cannot simulate is not asked to again, and says the same with
// and without others: no allocation seems to be in the way whose end changes nothing.
func TestAResourceManagerThatCannotSimulate(t *testing.T) {
	rm := &plain{preemption: func(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse { return nil }}
	g, seen := asking(rm)
	for _, remove := range [][]api.AllocationKey{nil, {"a"}, nil, {"a", "b"}} {
		assert.NilError(t, g.simulate("pod", "node-1", nil, remove))
	}
	assert.DeepEqual(t, rm.asked, []string{
		"pod on node-1 allocate=true",
		"pod on node-1 without [a] from 0", "pod on node-1 allocate=false",
		"pod on node-1 allocate=false",
		"pod on node-1 allocate=false",
	})
	assert.DeepEqual(t, warnings(seen), []string{})
}

// unresolvable is a refusal that no eviction would help.
type unresolvable struct{ text string }

func (u unresolvable) Error() string      { return u.text }
func (u unresolvable) Unresolvable() bool { return true }

// A simulator is told everything, and what it says reaches the core as it is.
func TestASimulator(t *testing.T) {
	rm := &able{}
	g, seen := asking(rm)
	var asked []PredicatesWithArgs
	var says error
	rm.with = func(args *PredicatesWithArgs) error {
		asked = append(asked, *args)
		return says
	}
	assert.NilError(t, g.simulate("pod", "node-1", []api.AllocationKey{"x"}, []api.AllocationKey{"a", "b"}))
	assert.NilError(t, g.simulate("pod", "node-2", nil, nil))
	assert.DeepEqual(t, asked, []PredicatesWithArgs{
		{AllocationKey: "pod", NodeID: "node-1", Add: []string{"x"}, Remove: []string{"a", "b"}},
		{AllocationKey: "pod", NodeID: "node-2", Add: []string{}, Remove: []string{}},
	})
	assert.Equal(t, len(rm.plain.asked), 0)

	says = fmt.Errorf("node-1: %w", unresolvable{"no such label"})
	err := g.simulate("pod", "node-1", nil, nil)
	assert.Equal(t, err, says)
	var hopeless interface{ Unresolvable() bool }
	assert.Assert(t, errors.As(err, &hopeless) && hopeless.Unresolvable())
	assert.DeepEqual(t, warnings(seen), []string{})
}

// The choice of victims reaches the core in its order, without what is none.
func TestChosenVictims(t *testing.T) {
	broken := errors.New("not here")
	for _, c := range []struct {
		name   string
		says   []string
		err    error
		want   []api.AllocationKey
		warned []string
	}{
		{"two", []string{"c", "a"}, nil, []api.AllocationKey{"c", "a"}, nil},
		{"none", nil, nil, []api.AllocationKey{}, nil},
		{"no choice", []string{"a"}, broken, nil, nil},
		{
			"nonsense among them",
			[]string{"b", "x", "", "b", "a", "y", "b"},
			nil,
			[]api.AllocationKey{"b", "a"},
			[]string{"SelectVictims: allocation that was not asked about", "SelectVictims: allocation given twice"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rm := &able{}
			g, seen := asking(rm)
			candidates, violating := []api.AllocationKey{"a", "b", "c"}, []bool{true, false, false}
			rm.victims = func(args *SelectVictimsArgs) ([]string, error) {
				assert.DeepEqual(t, *args, SelectVictimsArgs{
					AllocationKey: "pod", NodeID: "node-1",
					Candidates: []string{"a", "b", "c"}, Violating: []bool{true, false, false},
				})
				clear(args.Candidates)
				clear(args.Violating)
				return c.says, c.err
			}
			got, err := g.selectVictims("pod", "node-1", candidates, violating)
			assert.Equal(t, err, c.err)
			assert.DeepEqual(t, got, c.want)
			assert.DeepEqual(t, warnings(seen), append([]string{}, c.warned...))
			assert.DeepEqual(t, candidates, []api.AllocationKey{"a", "b", "c"})
			assert.DeepEqual(t, violating, []bool{true, false, false})
		})
	}
}

// Budgets reach the core in their order, without what is none.
func TestBudgets(t *testing.T) {
	rm := &able{}
	g, seen := asking(rm)
	asked := []api.AllocationKey{"a", "b", "c"}
	rm.budgets = func(keys []string) []DisruptionBudget {
		assert.DeepEqual(t, keys, []string{"a", "b", "c"})
		clear(keys)
		return []DisruptionBudget{
			{Name: "web", Allowed: 2, Allocations: []string{"c", "a"}},
			{Name: "negative", Allowed: -3, Allocations: []string{"a"}},
			{Name: "nonsense", Allowed: 1, Allocations: []string{"x", "b", "b", "y"}},
			{Name: "none", Allowed: 1, Allocations: []string{"z"}},
		}
	}
	for range 3 {
		assert.DeepEqual(t, g.budgets(asked), []api.DisruptionBudget{
			{Name: "web", Allowed: 2, Allocations: []api.AllocationKey{"c", "a"}},
			{Name: "negative", Allowed: 0, Allocations: []api.AllocationKey{"a"}},
			{Name: "nonsense", Allowed: 1, Allocations: []api.AllocationKey{"b"}},
		})
	}
	assert.DeepEqual(t, asked, []api.AllocationKey{"a", "b", "c"})
	assert.DeepEqual(t, warnings(seen), []string{
		"DisruptionBudgets: allowed is negative",
		"DisruptionBudgets: allocation that was not asked about",
		"DisruptionBudgets: allocation given twice",
	})
}

// A panic does not keep a question from being asked again. It counts as a refusal, and
// as a budget that protects all.
func TestPanicsOfAnswers(t *testing.T) {
	rm := &able{
		with:    func(*PredicatesWithArgs) error { panic("with") },
		victims: func(*SelectVictimsArgs) ([]string, error) { panic("victims") },
		budgets: func([]string) []DisruptionBudget { panic("budgets") },
	}
	g, seen := asking(rm)
	other, seenOther := asking(&plain{preemption: func(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse { panic("preemption") }})
	keys := []api.AllocationKey{"a", "b"}
	for range 3 {
		assert.Error(t, g.simulate("pod", "node-1", nil, keys), "the resource manager failed to answer PredicatesWith")
		_, err := g.selectVictims("pod", "node-1", keys, []bool{false, false})
		assert.Error(t, err, "the resource manager failed to answer SelectVictims")
		assert.DeepEqual(t, g.budgets(keys), []api.DisruptionBudget{{Name: "unknown", Allocations: keys}})
		assert.Error(t, other.simulate("pod", "node-1", nil, keys), "the resource manager failed to answer PreemptionPredicates")
	}
	for _, entry := range seen.All() {
		assert.Assert(t, strings.Contains(fmt.Sprint(entry.ContextMap()["error"]), "questions_test.go"), "where it was")
	}
	assert.DeepEqual(t, warnings(seen), []string{"PredicatesWith: panic", "SelectVictims: panic", "DisruptionBudgets: panic"})
	assert.DeepEqual(t, warnings(seenOther), []string{"PreemptionPredicates: panic"})
}

// Questions about a node wait for what touches it, a nomination too; the one about
// budgets waits for everything. When the partition ends nothing is asked.
func TestQuestionsWaitForDeliveries(t *testing.T) {
	keys := []api.AllocationKey{"a"}
	for _, c := range []struct {
		name string
		ask  func(*predicateGate)
		late uint64 // the last delivery that is waited for
	}{
		{"Predicates on nodes", func(g *predicateGate) { g.feasibleOn("pod", []api.NodeID{"node-3", "node-1"}, true) }, 2},
		{"Predicates", func(g *predicateGate) { _ = g.feasible("pod", "node-1", true) }, 2},
		{"PredicatesWith", func(g *predicateGate) { _ = g.simulate("pod", "node-1", nil, keys) }, 2},
		{"SelectVictims", func(g *predicateGate) { _, _ = g.selectVictims("pod", "node-1", keys, []bool{false}) }, 2},
		{"DisruptionBudgets", func(g *predicateGate) { g.budgets(keys) }, 3},
		{"a node that nothing touches", func(g *predicateGate) { _ = g.simulate("pod", "node-3", nil, keys) }, 0},
	} {
		for _, ends := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s ends=%t", c.name, ends), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rm := &able{}
					note := func(question string) { rm.asked = append(rm.asked, question) }
					rm.with = func(*PredicatesWithArgs) error { note("PredicatesWith"); return nil }
					rm.victims = func(*SelectVictimsArgs) ([]string, error) { note("SelectVictims"); return nil, nil }
					rm.budgets = func([]string) []DisruptionBudget { note("DisruptionBudgets"); return nil }
					g, _ := asking(rm)
					g.several = &severalNodes{answers: func(args *PredicatesOnNodesArgs) []error {
						note("PredicatesOnNodes")
						return make([]error, len(args.NodeIDs))
					}}
					effects := api.Effects{
						api.Placed{Allocation: running("a", "node-1")},
						&api.Claimed{Allocation: running("pod", ""), Node: "node-1", Plan: new(preemptor.Decision)},
						&api.Claimed{Allocation: running("b", ""), Node: "node-2", Plan: new(preemptor.Decision)},
					}
					g.note(effects, put(g.outbox, testOwner(), effects...))
					deliveries := g.outbox.waiting
					answered := false
					go func() { c.ask(g); answered = true }()
					for n := range c.late {
						synctest.Wait()
						assert.Assert(t, !answered, "after %d deliveries", n)
						if ends && n == 1 {
							g.outbox.close()
							break
						}
						g.outbox.done(deliveries[n : n+1])
					}
					synctest.Wait()
					assert.Assert(t, answered)
					closed := ends && c.late > 0
					assert.Equal(t, len(rm.asked) == 0, closed)
				})
			})
		}
	}
}

// The core asks what the callback can answer, and nothing of predicates where they
// are to be skipped. Where nothing is asked there is no gate.
func TestWhatTheCoreMayAsk(t *testing.T) {
	type budgeter struct {
		siapi.ResourceManagerCallback
		DisruptionBudgeter
	}
	type selector struct {
		siapi.ResourceManagerCallback
		VictimSelector
	}
	for _, c := range []struct {
		callback siapi.ResourceManagerCallback
		skip     bool
		want     string
	}{
		{&plain{}, false, "feasible simulate pace"},
		{&plain{}, true, ""},
		{&able{}, false, "feasible simulate select budgets pace"},
		{&able{}, true, "select budgets"},
		{&severalNodes{}, false, "feasible simulate pace nodes classes"},
		{&severalNodes{}, true, ""},
		{budgeter{}, true, "budgets"},
		{selector{}, true, "select"},
	} {
		s, err := New(Config{SkipPredicates: c.skip})
		assert.NilError(t, err)
		var options api.Options
		g := s.newGate(&registration{outbox: newOutbox(meter{}), callback: c.callback}, "p", &options)
		var words []string
		for word, there := range map[string]bool{
			"0 feasible": options.Feasible != nil, "1 simulate": options.Simulate != nil,
			"2 select": options.SelectVictims != nil, "3 budgets": options.Budgets != nil,
			"4 pace": options.Pace != nil, "5 nodes": options.FeasibleOn != nil, "6 classes": options.Constraints != nil,
		} {
			if there {
				words = append(words, word)
			}
		}
		slices.Sort(words)
		for i := range words {
			words[i] = words[i][2:]
		}
		assert.Equal(t, strings.Join(words, " "), c.want)
		assert.Equal(t, g != nil, c.want != "")
	}
}
