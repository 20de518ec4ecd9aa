package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

func running(key api.AllocationKey, node api.NodeID) *api.Allocation {
	return &api.Allocation{Key: key, Application: "app-1", Node: node}
}

// A gate is as large as what is under way, and not as what runs or ever was.
func TestAGateForgets(t *testing.T) {
	o := testOwner()
	g := newPredicateGate(newOutbox(meter{}), nil, zap.NewNop())
	tell := func(event api.Event) { g.note(api.Effects{event}, put(g.outbox, o, event)) }
	tell(&api.NodeAdded{ID: "node-1"})
	tell(api.Placed{Allocation: running("pod-1", "node-1")})
	tell(api.Adopted{Allocation: running("pod-2", "node-2")})
	assert.DeepEqual(t, g.last, map[api.NodeID]uint64{"node-1": 2, "node-2": 3})

	// The first two are delivered, and nothing is kept of them.
	g.outbox.done(g.outbox.waiting[:2])
	tell(&api.Ended{Allocation: running("pod-2", "node-2")})
	assert.DeepEqual(t, g.last, map[api.NodeID]uint64{"node-2": 4})
	tell(&api.EvictionRequested{Allocation: running("pod-1", "node-1")})
	assert.Equal(t, g.last["node-1"], uint64(5))
	g.outbox.done(g.outbox.waiting[2:])
	g.note(nil, 5)
	assert.Equal(t, len(g.last)+len(g.order), 0)
}

// TestAGateUsesItsListAgain: while some deliveries are under way, further ones need no memory,
// and after a flood of them the gate is small again.
func TestAGateUsesItsListAgain(t *testing.T) {
	g := newPredicateGate(newOutbox(meter{}), nil, zap.NewNop())
	number := uint64(0)
	deliver := func(more, behind uint64) {
		for range more {
			number++
			g.touch("node-1", number)
			g.outbox.delivered = number - min(number, behind)
			g.trim()
		}
	}
	deliver(1000, 10)
	assert.Equal(t, testing.AllocsPerRun(10, func() { deliver(1000, 10) }), 0.0)
	assert.Assert(t, cap(g.order) < 100, "%d", cap(g.order))
	deliver(10*sparesMax, 10*sparesMax)
	assert.Assert(t, len(g.order) > 9*sparesMax)
	deliver(10, 1)
	assert.Assert(t, len(g.order)-g.trimmed == 1 && cap(g.order) < 100, "%d of %d", len(g.order), cap(g.order))
}

// What the resource manager said itself has no message and is not waited for, and does
// not change the numbers of what follows in the same step.
func TestWhatIsNotToldTouchesNoNode(t *testing.T) {
	g := newPredicateGate(newOutbox(meter{}), nil, zap.NewNop())
	effects := api.Effects{
		api.ForeignAdded{Allocation: running("foreign", "node-1")},
		&api.Ended{Allocation: running("victim", "node-2"), Cause: api.CausePreempted},
		&api.ClaimEnded{Allocation: running("pod-1", ""), Node: "node-3", Reason: "released", Nominated: true},
		api.Placed{Allocation: running("pod-2", "node-4")},
	}
	g.note(effects, put(g.outbox, testOwner(), effects...))
	assert.DeepEqual(t, g.last, map[api.NodeID]uint64{"node-4": 1})
	assert.Equal(t, g.outbox.latest(), uint64(1))
}

// The end of a nomination is told with the placement elsewhere, or by itself where the ask
// still waits. Questions about the node wait for that.
func TestTheEndOfANominationTouchesItsNode(t *testing.T) {
	g := newPredicateGate(newOutbox(meter{}), nil, zap.NewNop())
	effects := api.Effects{
		&api.ClaimEnded{Allocation: running("pod-1", ""), Node: "node-1", Reason: "placed", Nominated: true},
		&api.ClaimEnded{Allocation: running("pod-2", ""), Node: "node-2", Nominated: true, End: api.EndOfRoom},
		api.Placed{Allocation: running("pod-1", "node-3")},
	}
	g.note(effects, put(g.outbox, testOwner(), effects...))
	assert.DeepEqual(t, g.last, map[api.NodeID]uint64{"node-2": 1, "node-3": 2, "node-1": 2})
}

// severalNodes is a resource manager that answers for several nodes.
type severalNodes struct {
	plain
	answers func(*PredicatesOnNodesArgs) []error
	class   func(string) string
}

func (s *severalNodes) PredicatesOnNodes(args *PredicatesOnNodesArgs) []error { return s.answers(args) }

func (s *severalNodes) PredicateClass(key string) string { return s.class(key) }

// Answers for several nodes reach the core as they are; where there is not one for
// each node, all are refused.
func TestPredicatesOnSeveralNodes(t *testing.T) {
	no := errors.New("no")
	rm := &severalNodes{}
	g, seen := asking(rm)
	nodes := []api.NodeID{"node-1", "node-2"}
	rm.answers = func(args *PredicatesOnNodesArgs) []error {
		assert.DeepEqual(t, *args, PredicatesOnNodesArgs{AllocationKey: "pod", NodeIDs: []string{"node-1", "node-2"}, Allocate: true})
		clear(args.NodeIDs)
		return []error{no, nil}
	}
	answers := g.feasibleOn("pod", nodes, true)
	assert.Equal(t, len(answers), 2)
	assert.Equal(t, answers[0], no)
	assert.Equal(t, answers[1], nil)
	assert.DeepEqual(t, nodes, []api.NodeID{"node-1", "node-2"})
	assert.DeepEqual(t, warnings(seen), []string{})

	for _, wrong := range []func(*PredicatesOnNodesArgs) []error{
		func(*PredicatesOnNodesArgs) []error { return nil },
		func(*PredicatesOnNodesArgs) []error { return make([]error, 3) },
		func(*PredicatesOnNodesArgs) []error { panic("several") },
	} {
		rm.answers = wrong
		answers := g.feasibleOn("pod", nodes, true)
		assert.Equal(t, len(answers), 2)
		for _, answer := range answers {
			assert.Error(t, answer, "the resource manager failed to answer PredicatesOnNodes")
		}
	}
	assert.DeepEqual(t, warnings(seen), []string{"PredicatesOnNodes: wrong number of answers", "PredicatesOnNodes: panic"})
}

// Where several nodes can be asked about Predicates is never asked, not about one node
// either, nor about what a node would be like.
func TestPredicatesOnOneNode(t *testing.T) {
	no := errors.New("no")
	rm := &severalNodes{}
	g, _ := asking(rm)
	var asked [][]string
	rm.answers = func(args *PredicatesOnNodesArgs) []error {
		asked = append(asked, args.NodeIDs)
		return []error{no}
	}
	assert.Equal(t, g.feasible("pod", "node-1", true), no)
	assert.Equal(t, g.simulate("pod", "node-2", nil, nil), no)
	assert.DeepEqual(t, asked, [][]string{{"node-1"}, {"node-2"}})
}

// A class reaches the core as it is; a panic says nothing of it.
func TestPredicateClasses(t *testing.T) {
	rm := &severalNodes{class: func(key string) string { return "like " + key }}
	g, seen := asking(rm)
	assert.Equal(t, g.class("pod"), "like pod")
	rm.class = func(string) string { panic("class") }
	assert.Equal(t, g.class("pod"), "")
	rm.class = func(string) string { return strings.Repeat("x", 1025) }
	assert.Equal(t, g.class("pod"), "")
	assert.DeepEqual(t, warnings(seen), []string{"PredicateClass: panic", "PredicateClass: name is too long"})
}

// tiedTo is a resource manager that knows ties.
type tiedTo struct {
	severalNodes
	classes func(string) []string
}

func (s *tiedTo) TiedClasses(key, _ string) []string { return s.classes(key) }

// Where an allocation has ties, all questions wait for the delivery that tells of it; a panic says that
// it has none.
func TestQuestionsWaitForWhatHasTies(t *testing.T) {
	rm := &tiedTo{classes: func(string) []string { return nil }}
	g, seen := asking(rm)
	place := func() {
		placed := api.Placed{Allocation: running("pod-1", "node-1")}
		g.tied("pod-1", "")
		g.note(api.Effects{placed}, put(g.outbox, testOwner(), placed))
	}
	place()
	assert.Equal(t, g.every, uint64(0))
	rm.classes = func(key string) []string { return []string{"like " + key} }
	place()
	assert.Equal(t, g.every, uint64(2))
	rm.classes = func(string) []string { panic("ties") }
	assert.Equal(t, len(g.tied("pod-1", "")), 0)
	place()
	assert.Equal(t, g.every, uint64(2))
	assert.DeepEqual(t, warnings(seen), []string{"TiedClasses: panic"})
}

// chooses is a resource manager that knows which nodes are better.
type chooses struct {
	severalNodes
	best func(*BestNodesArgs) []string
}

func (c *chooses) BestNodes(args *BestNodesArgs) []string { return c.best(args) }

// The resource manager is shown the nodes as the core has them, and its choice reaches the core as it is; a
// panic says that it has none.
func TestBestNodes(t *testing.T) {
	rm := &chooses{}
	g, seen := asking(rm)
	nodes := func(yield func(api.NodeID, int64) bool) { _ = yield("node-1", 100) && yield("node-2", 50) }
	rm.best = func(args *BestNodesArgs) []string {
		assert.Equal(t, args.AllocationKey, "pod")
		assert.Equal(t, args.Most, 3)
		assert.DeepEqual(t, maps.Collect(args.Nodes), map[string]int64{"node-1": 100, "node-2": 50})
		return []string{"node-2", "node-9"}
	}
	assert.DeepEqual(t, g.best("pod", nodes, 3), []api.NodeID{"node-2", "node-9"})
	rm.best = func(args *BestNodesArgs) []string {
		for node := range args.Nodes {
			return []string{node}
		}
		return nil
	}
	assert.DeepEqual(t, g.best("pod", nodes, 3), []api.NodeID{"node-1"})
	rm.best = func(*BestNodesArgs) []string { panic("best") }
	assert.Equal(t, len(g.best("pod", nodes, 1)), 0)
	assert.DeepEqual(t, warnings(seen), []string{"BestNodes: panic"})
}

// The time of questions is that of the kind that the core said before.
func TestQuestionsAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		no := errors.New("no")
		rm := &slow{takes: 3 * time.Millisecond, refuses: no}
		g, _ := asking(rm)
		for range 2 {
			assert.Equal(t, g.wait(api.FurtherQuestion), time.Duration(0))
			assert.Equal(t, g.feasible("pod", "node-1", true), no)
		}
		assert.Equal(t, g.wait(api.FurtherQuestion), 6*time.Millisecond)
		assert.Equal(t, g.wait(api.FirstQuestion), time.Duration(0))
		rm.refuses = nil
		g.pace.beginBatch()
		assert.NilError(t, g.feasible("pod", "node-1", true))
		assert.Equal(t, g.wait(api.FurtherQuestion), time.Duration(0))
		assert.Equal(t, g.wait(api.RepeatedQuestion), time.Duration(0))
		assert.NilError(t, g.feasible("pod", "node-1", true))
		assert.Equal(t, g.wait(api.RepeatedQuestion), 27*time.Millisecond)
		assert.Equal(t, g.wait(api.FurtherQuestion), time.Duration(0))
	})
}

// slow is a resource manager whose predicates take time.
type slow struct {
	plain
	takes   time.Duration
	refuses error
}

func (s *slow) Predicates(*si.PredicatesArgs) error {
	time.Sleep(s.takes)
	return s.refuses
}

// TestTellNumbersWhatIsRecorded: the record of a step is delivered before its messages, and
// a step without effects has none.
func TestTellNumbersWhatIsRecorded(t *testing.T) {
	o := testOwner()
	o.outbox, o.recordsAll = newOutbox(meter{}), true
	o.gate = newPredicateGate(o.outbox, nil, zap.NewNop())
	o.tell(time.Unix(1, 0), nil)
	assert.Equal(t, o.outbox.latest(), uint64(0))
	o.tell(time.Unix(1, 0), api.Effects{&api.NodeAdded{ID: "node-1"}})
	assert.Equal(t, o.gate.last["node-1"], o.outbox.latest())
	assert.Equal(t, o.outbox.latest(), uint64(2))
}

// panicking is a resource manager whose every callback panics.
type panicking struct{ plain }

func (panicking) Predicates(*si.PredicatesArgs) error             { panic("no pods") }
func (panicking) UpdateAllocation(*si.AllocationResponse) error   { panic("no pods") }
func (panicking) UpdateApplication(*si.ApplicationResponse) error { panic("no pods") }
func (panicking) UpdateNode(*si.NodeResponse) error               { panic("no pods") }
func (panicking) SendEvent([]*si.EventRecord)                     { panic("no pods") }
func (panicking) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {
	panic("no pods")
}

// A panic in any callback is contained, counted and named. Where it was a question the
// answer is no, and others are served.
func TestPanicsAreContained(t *testing.T) {
	g, seen := asking(&panicking{})
	c := &counted{panics: map[string]int{}}
	g.meter.metrics = c
	assert.Error(t, g.feasible("pod", "node-1", true), "the resource manager failed to answer Predicates")
	assert.Error(t, g.feasible("pod", "node-1", true), "the resource manager failed to answer Predicates")
	assert.DeepEqual(t, warnings(seen), []string{"Predicates: panic"})
	d := &dispatcher{callback: &panicking{}, log: newEffectLog(newLoggers(zap.NewNop()), "rm"), meter: g.meter}
	d.updateAllocation(nil, &si.AllocationResponse{})
	d.applications([]delivery{deliveryOf(&api.ApplicationAccepted{})})
	d.nodes([]delivery{deliveryOf(&api.NodeAdded{})})
	d.state([]delivery{deliveryOf(&api.Unschedulable{Allocation: &api.Allocation{}})})
	assert.DeepEqual(t, c.panics, map[string]int{
		"Predicates": 2, "UpdateAllocation": 1, "UpdateApplication": 1, "UpdateNode": 1, "UpdateContainerSchedulingState": 1,
	})
}

// curious is a resource manager that keeps all questions.
type curious struct {
	siapi.ResourceManagerCallback
	kept []*si.PredicatesArgs
}

func (c *curious) Predicates(args *si.PredicatesArgs) error {
	c.kept = append(c.kept, args)
	return nil
}

// Questions take memory for a few at once. Those that are kept stay as they were, and each is
// measured once.
func TestQuestionsTakeMemoryTogether(t *testing.T) {
	const questions = 10 * argsMax
	c := &curious{kept: make([]*si.PredicatesArgs, 0, 10*questions)}
	g, _ := asking(c)
	measured := &counted{}
	g.meter = meter{measured}
	pods := make([]api.AllocationKey, questions)
	for i := range pods {
		pods[i] = api.AllocationKey(fmt.Sprint(i))
	}
	got := testing.AllocsPerRun(5, func() {
		for i, pod := range pods {
			assert.NilError(t, g.feasible(pod, "node-1", i%2 == 0))
		}
	})
	assert.Equal(t, got, float64(questions/argsMax))
	for i, args := range c.kept {
		i %= questions
		assert.Equal(t, fmt.Sprint(args.AllocationKey, args.NodeID, args.Allocate), fmt.Sprint(i, "node-1", i%2 == 0))
	}
	assert.Equal(t, measured.laps, len(c.kept))
}
