package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A longAttempt is a full cluster with more nodes than one batch looks at, of which only the
// last has a lawful victim, and that one costs most at first sight.
type longAttempt struct {
	p     *core.Partition
	asked int // how often for budgets
	nodes int
	// during is done before each call of Schedule but the first.
	during func(batch int)
}

// longQueues are queues a and b, of which b has a guarantee.
func longQueues(a api.QueueConfig, guaranteed resources.Amounts) api.QueueConfig {
	a.Name = "a"
	return api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{a, {Name: "b", Guaranteed: guaranteed}, {Name: "c"}}}
}

func newLongAttempt(nodes int, root api.QueueConfig, policy preemptor.BudgetPolicy, advise func(*longAttempt, *api.Options)) *longAttempt {
	l := &longAttempt{nodes: nodes, during: func(int) {}}
	options := api.Options{Kinds: testKinds(), ReserveDelay: -1}
	advise(l, &options)
	l.p = core.NewPartition(options, api.Config{Name: "default", Root: root, Preemption: api.PreemptionConfig{Budgets: policy}})
	for _, name := range []string{"a", "b", "c"} {
		l.p.Apply(start, api.AddApplication{ID: api.ApplicationID(name), Queue: api.QueuePath("root." + name)})
	}
	return l
}

// budgetOfB has a budget that allows nothing of queue b to go.
func budgetOfB(l *longAttempt, o *api.Options) {
	o.Budgets = func(keys []api.AllocationKey) []api.DisruptionBudget {
		l.asked++
		b := api.DisruptionBudget{Name: "b"}
		for _, key := range keys {
			if key[0] == 'b' {
				b.Allocations = append(b.Allocations, key)
			}
		}
		return []api.DisruptionBudget{b}
	}
}

func nothing(*longAttempt, *api.Options) {}

// fill fills the nodes with one allocation each, of queue b, and the last one with good.
func (l *longAttempt) fill(queue api.ApplicationID, good int32, amounts ...int64) {
	for i := range l.nodes - 1 {
		l.add(fmt.Sprintf("n%05d", i), queue, fmt.Sprintf("b-%05d", i), 0, amounts...)
	}
	l.add("z", "c", "good", good, amounts...)
}

func (l *longAttempt) add(node string, app api.ApplicationID, key string, priority int32, amounts ...int64) {
	l.p.Apply(start, api.AddNode{ID: api.NodeID(node), Capacity: []int64{amounts[0], 100}})
	runs := ask(app, key, amounts...)
	runs.Allocation.Node, runs.Allocation.Priority = api.NodeID(node), priority
	l.p.Apply(start, runs)
}

func (l *longAttempt) wants(key string, priority int32, amounts ...int64) {
	a := ask("a", key, amounts...)
	a.Allocation.Priority, a.Allocation.Created = priority, start.Add(-time.Hour)
	l.p.Apply(start, a)
}

// rest schedules until nothing is left to do, and returns the victims and how many calls
// that took. It gives up after too many.
func (l *longAttempt) rest(t *testing.T, most int) (victims []string, calls int) {
	t.Helper()
	for more := true; more; calls++ {
		assert.Assert(t, calls < most, "scheduling does not come to rest in %d batches", most)
		if calls > 0 {
			l.during(calls)
		}
		var fx api.Effects
		fx, more = l.p.Schedule(start)
		for _, e := range fx {
			if v, ok := e.(*api.EvictionRequested); ok {
				victims = append(victims, string(v.Allocation.Key))
			}
		}
	}
	assert.NilError(t, l.p.Verify())
	return victims, calls
}

// batches is in how many batches an attempt looks at all nodes, with one more to end.
func (l *longAttempt) batches() int { return l.nodes/core.EvaluationsMax + 2 }

// An attempt that looks at more nodes than one batch may goes on where it stopped, also where
// what a node costs depends on more than the node.
func TestALongAttemptComesToItsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, nodes := range []int{5000, 10 * core.EvaluationsMax} {
		t.Run(fmt.Sprintf("a hard budget, %d nodes", nodes), func(t *testing.T) {
			l := newLongAttempt(nodes, longQueues(api.QueueConfig{}, nil), preemptor.HardBudgets, budgetOfB)
			l.fill("b", 5, 2)
			for class := range 3 {
				l.wants(fmt.Sprint("hopeless-", class), int32(3+class), 2)
			}
			l.wants("wants", 10, 2)
			l.asked = 0
			victims, calls := l.rest(t, 6*l.batches())
			t.Logf("%d batches, %d questions about budgets", calls, l.asked)
			assert.DeepEqual(t, victims, []string{"good"})
			assert.Assert(t, l.asked <= 4*nodes+100)
		})
		t.Run(fmt.Sprintf("budgets that are preferred, %d nodes", nodes), func(t *testing.T) {
			l := newLongAttempt(nodes, longQueues(api.QueueConfig{}, nil), preemptor.PreferBudgets, budgetOfB)
			l.fill("b", 5, 2)
			l.wants("wants", 10, 2)
			victims, calls := l.rest(t, 2*l.batches())
			t.Logf("%d batches", calls)
			assert.DeepEqual(t, victims, []string{"good"})
		})
		t.Run(fmt.Sprintf("two triggers and a budget, %d nodes", nodes), func(t *testing.T) {
			root := longQueues(api.QueueConfig{Guaranteed: resources.Amounts{4}}, nil)
			l := newLongAttempt(nodes, root, preemptor.HardBudgets, budgetOfB)
			l.fill("b", 5, 2)
			l.wants("wants", 5, 2)
			victims, calls := l.rest(t, 4*l.batches())
			t.Logf("%d batches", calls)
			assert.DeepEqual(t, victims, []string{"good"})
		})
		t.Run(fmt.Sprintf("a guarantee of which ever more is used, %d nodes", nodes), func(t *testing.T) {
			used := int64(2*(nodes-1) + 1)
			l := newLongAttempt(nodes, longQueues(api.QueueConfig{}, resources.Amounts{used - 1, 1}), 0, nothing)
			l.fill("b", 5, 2)
			l.add("y", "b", "b-small", 0, 1)
			l.during = func(batch int) {
				l.add(fmt.Sprint("x-", batch), "b", fmt.Sprint("b-more-", batch), 9, 0, 1)
			}
			l.wants("wants", 8, 2)
			victims, calls := l.rest(t, 2*l.batches())
			t.Logf("%d batches", calls)
			assert.DeepEqual(t, victims, []string{"good"})
		})
	}
}

// An attempt that looks at the nodes alone that have changed goes on in the same way. Nothing
// decides but priorities, and a resource manager that first refuses every node.
func TestALongAttemptAmongChangedNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, nodes := range []int{5000, 10 * core.EvaluationsMax} {
		refusal := errTaint
		l := newLongAttempt(nodes, longQueues(api.QueueConfig{}, nil), 0, func(_ *longAttempt, o *api.Options) {
			o.Simulate = func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error {
				return refusal
			}
		})
		l.fill("b", 5, 2)
		l.wants("wants", 10, 2, 1)
		victims, _ := l.rest(t, 10*l.batches())
		assert.Equal(t, len(victims), 0, "every node is refused")
		refusal = nil
		for i := range nodes - 1 {
			l.grow(fmt.Sprintf("n%05d", i), "b-high", 8)
		}
		l.grow("z", "c-more", 5)
		victims, calls := l.rest(t, 2*l.batches())
		t.Logf("%d nodes: %d batches", nodes, calls)
		assert.DeepEqual(t, victims, []string{"c-more-z", "good"})
	}
}

// grow changes a node, and has another allocation run there that holds what is wanted too.
func (l *longAttempt) grow(node, key string, priority int32) {
	l.p.Apply(start, api.UpdateNode{ID: api.NodeID(node), Capacity: []int64{2, 1}})
	more := ask(api.ApplicationID(key[:1]), key+"-"+node, 0, 1)
	more.Allocation.Node, more.Allocation.Priority = api.NodeID(node), priority
	l.p.Apply(start, more)
}

// An attempt that lacks quota plans for every node in full, and goes on with that as well.
func TestALongAttemptWithoutQuota(t *testing.T) {
	for _, nodes := range []int{5000, 10 * core.EvaluationsMax} {
		root := api.QueueConfig{Name: "root", Parent: true, Max: resources.Limits{resources.Unlimited, 4}}
		root.Queues = longQueues(api.QueueConfig{}, nil).Queues
		l := newLongAttempt(nodes, root, preemptor.HardBudgets, budgetOfB)
		l.fill("b", 5, 2)
		more := ask("c", "good-too", 0, 4)
		more.Allocation.Node, more.Allocation.Priority = "z", 5
		l.p.Apply(start, more)
		l.wants("wants", 10, 2, 4)
		victims, calls := l.rest(t, 4*l.batches())
		t.Logf("%d nodes: %d batches", nodes, calls)
		assert.DeepEqual(t, victims, []string{"good", "good-too"})
	}
}
