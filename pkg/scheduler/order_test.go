package scheduler_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// placedOn is the node of the first allocation that a callback announces, or
// nothing.
func placedOn(call schedulertest.Call) string {
	if r, ok := call.Message.(*si.AllocationResponse); ok && len(r.New) > 0 {
		return r.New[0].NodeID
	}
	return ""
}

// pods is what a shim knows of its nodes. Its predicate allows one pod per node.
type pods struct {
	mu    sync.Mutex
	nodes map[string]int
}

func (p *pods) add(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes[node]++
}

func (p *pods) alone(args *si.PredicatesArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes[args.NodeID] > 0 {
		return errors.New("there is a pod already")
	}
	return nil
}

// A shim takes a pod into account when the callback that announces it returns, not
// before. If the scheduler asked about the node earlier, it would place a second
// pod there.
func TestPredicatesAreAskedAfterTheCallbackHasReturned(t *testing.T) {
	known := &pods{nodes: map[string]int{}}
	options := schedulertest.Options{
		During: func(call schedulertest.Call) error {
			if node := placedOn(call); node != "" {
				time.Sleep(time.Second)
				known.add(node)
			}
			return nil
		},
		Predicates: known.alone,
	}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-2", "vcore=8")
		m.AddNode("node-3", "vcore=8")
		assert.NilError(t, m.Send(asks(6)...))
		m.Advance(time.Hour)
		assert.DeepEqual(t, known.nodes, map[string]int{"node-1": 1, "node-2": 1, "node-3": 1})
		assert.Equal(t, len(m.Application("app-1").Allocations), 3)
	})
}

// The same for a release: it is announced before a predicate may be asked about
// the node that it concerns.
func TestPredicatesAreAskedAfterAReleaseIsAnnounced(t *testing.T) {
	released := false
	options := schedulertest.Options{
		During: func(call schedulertest.Call) error {
			if r, ok := call.Message.(*si.AllocationResponse); ok && len(r.Released) > 0 {
				time.Sleep(time.Second)
				released = true
			}
			return nil
		},
		Predicates: func(args *si.PredicatesArgs) error {
			if args.AllocationKey == "pod-2" && !released {
				return errors.New("asked too early")
			}
			return nil
		},
	}
	cluster(t, options, "vcore=1", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1")
		begin := time.Now()
		m.Release("app-1", "pod-1")
		assert.Equal(t, m.WaitPlaced("pod-2"), "node-1")
		assert.Equal(t, time.Since(begin), time.Second)
	})
}

// A blocked callback does not return before it is let go. Its channel is made in
// the bubble of the test, or synctest would not know that it waits.
type blocked struct {
	once    sync.Once
	channel chan struct{}
}

func (b *blocked) wait() {
	b.once.Do(func() { b.channel = make(chan struct{}) })
	<-b.channel
}

func (b *blocked) letGo() { close(b.channel) }

// on blocks the callbacks that place something on a node.
func (b *blocked) on(node string) func(schedulertest.Call) error {
	return func(call schedulertest.Call) error {
		if placedOn(call) == node {
			b.wait()
		}
		return nil
	}
}

// While a callback about one node is blocked, placements on other nodes go on, and
// are told when it returns.
func TestABlockedCallbackHoldsUpItsOwnNodeOnly(t *testing.T) {
	gate := new(blocked)
	options := schedulertest.Options{During: gate.on("node-1")}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-2", "vcore=8")
		m.AddNode("node-3", "vcore=8")
		assert.NilError(t, m.Send(asks(3)...))
		m.Settle()
		assert.Equal(t, len(m.Application("app-1").Allocations), 3)
		assert.DeepEqual(t, responses(m), []int{1})

		gate.letGo()
		m.Settle()
		assert.DeepEqual(t, responses(m), []int{1, 1, 1})
	})
}

// What needs the node whose callback is blocked waits, and goes on afterwards.
func TestAPartitionWaitsForTheNodeItAsksAbout(t *testing.T) {
	gate := new(blocked)
	options := schedulertest.Options{During: gate.on("node-1")}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(2)...))
		m.Settle()
		assert.DeepEqual(t, responses(m), []int{1})
		// The calls of the resource manager do not wait.
		assert.NilError(t, m.Send(asks(3)...))
		gate.letGo()
		m.Settle()
		assert.DeepEqual(t, responses(m), []int{1, 1, 1})
	})
}

// A callback of one resource manager that never returns is nothing to another.
func TestABlockedCallbackIsNothingToOthers(t *testing.T) {
	gate := new(blocked)
	options := schedulertest.Options{During: gate.on("node-1")}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		other := m.Join(schedulertest.Options{ID: "other"})
		other.AddNode("node-1", "vcore=8")
		other.AddApplication("app-1", "root.default")
		assert.NilError(t, m.Send(asks(2)...))
		m.Settle()
		other.Ask("app-1", "pod-1", "vcore=1")
		assert.Equal(t, other.WaitPlaced("pod-1"), "node-1")
		gate.letGo()
	})
}

// The locks of a shim: callbacks and handlers of pods take the write lock,
// predicates the read lock, and handlers call the scheduler while they hold it. A
// scheduler with a lock of its own across any of these would stand still.
func TestCallsWithTheLocksOfAShim(t *testing.T) {
	var cache sync.RWMutex
	options := schedulertest.Options{
		During: func(call schedulertest.Call) error {
			if _, ok := call.Message.(*si.AllocationResponse); ok {
				cache.Lock()
				defer cache.Unlock()
				runtime.Gosched()
			}
			return nil
		},
		Predicates: func(*si.PredicatesArgs) error {
			cache.RLock()
			defer cache.RUnlock()
			return nil
		},
	}
	cluster(t, options, "vcore=1000", func(t *testing.T, m *schedulertest.MockScheduler) {
		for i := range 200 {
			func() {
				cache.Lock()
				defer cache.Unlock()
				a := asks(1)[0]
				a.AllocationKey = fmt.Sprint("pod-", i)
				assert.NilError(t, m.Send(a))
				assert.NilError(t, m.UpdateNodeOf(node("node-1", si.NodeInfo_UPDATE, fmt.Sprintf("vcore=%d", 1000+i))))
			}()
		}
		m.Advance(time.Minute)
		assert.Equal(t, len(m.Application("app-1").Allocations), 200)
	})
}

// The calls that only enqueue may be made from within a callback, and so may the
// update of a configuration that has not changed.
func TestCallsFromWithinACallback(t *testing.T) {
	var m *schedulertest.MockScheduler
	done := false
	options := schedulertest.Options{During: func(call schedulertest.Call) error {
		if placedOn(call) == "" || done {
			return nil
		}
		done = true
		return errors.Join(
			m.Send(asks(2)...),
			m.UpdateNodeOf(node("node-2", si.NodeInfo_CREATE, "vcore=8")),
			m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", Remove: []*si.RemoveApplicationRequest{{ApplicationID: "app-9"}}}),
			m.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", ExtraConfig: map[string]string{"a": "b"}}),
		)
	}}
	synctest.Test(t, func(t *testing.T) {
		m = schedulertest.New(t, options)
		m.AddNode("node-1", "vcore=8")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-0", "vcore=1")
		assert.Equal(t, m.WaitPlaced("pod-2") != "", true)
		assert.Equal(t, len(m.Look().Nodes), 2)
	})
}

// A flood of asks does not keep a change of a node waiting: the owner looks into
// its inbox every few placements.
func TestAFloodOfAsksDoesNotHoldUpNodes(t *testing.T) {
	placements, atDrain := 0, 0
	var m *schedulertest.MockScheduler
	options := schedulertest.Options{
		Scheduler: scheduler.Config{PlacementsMax: 10},
		Predicates: func(args *si.PredicatesArgs) error {
			placements++
			if placements == 15 {
				return m.UpdateNodeOf(&si.NodeInfo{NodeID: "node-1", Action: si.NodeInfo_DRAIN_NODE})
			}
			return nil
		},
	}
	options.During = func(call schedulertest.Call) error {
		if placedOn(call) == "node-1" {
			atDrain++
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		m = schedulertest.New(t, options)
		for i := range 20 {
			m.AddNode(fmt.Sprintf("node-%d", i+1), "vcore=100")
		}
		m.AddApplication("app-1", "root.default")
		assert.NilError(t, m.Send(asks(1000)...))
		m.Settle()
		assert.Equal(t, m.Node("node-1").Schedulable, false)
		assert.Assert(t, atDrain <= 20, "%d placements on the node", atDrain)
		assert.Equal(t, len(m.Application("app-1").Allocations), 1000)
	})
}

// What is refused at the door keeps its place among the other answers.
func TestRefusalsStayInLine(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		for i := range 5 {
			assert.NilError(t, m.UpdateNodeOf(node(fmt.Sprint("good-", i), si.NodeInfo_CREATE, "vcore=1")))
			assert.NilError(t, m.UpdateNodeOf(node(fmt.Sprint("bad-", i), si.NodeInfo_UNKNOWN_ACTION_FROM_RM, "vcore=1")))
		}
		m.Settle()
		var want []string
		for i := range 5 {
			want = append(want,
				fmt.Sprintf("node good-%d accepted", i),
				fmt.Sprintf("node bad-%d rejected: unknown node action: UNKNOWN_ACTION_FROM_RM", i))
		}
		assert.DeepEqual(t, m.Heard(), want)
	})
}

// Events are told in order, between the answers.
func TestEventsAreTold(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=1")
		m.RemoveNode("node-1")
		events := m.Events()
		assert.Equal(t, len(events), 3)
		assert.Equal(t, events[0].EventChangeType, si.EventRecord_ADD)
		assert.Equal(t, events[1].EventChangeDetail, si.EventRecord_NODE_SCHEDULABLE)
		assert.Equal(t, events[2].EventChangeDetail, si.EventRecord_NODE_DECOMISSION)
		assert.Equal(t, events[1].ObjectID, "node-1")
	})
}
