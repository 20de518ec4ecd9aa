package scheduler_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

const twoPartitions = `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - name: default
- name: gpu
  queues:
  - name: root
    queues:
    - name: default
`

func TestConfigReportsEveryProblem(t *testing.T) {
	_, err := scheduler.New(scheduler.Config{
		InboxMax: -1, AnswerTimeout: -1, BatchAllocations: -1, PlacementsMax: -1, ReserveMax: -1, CompletingDelay: -1, RetryDelay: -1, RetryMax: -1,
	})
	assert.Equal(t, strings.Count(err.Error(), "is negative"), 8)
	_, err = scheduler.New(scheduler.Config{RetryDelay: time.Minute, RetryMax: time.Second})
	assert.ErrorContains(t, err, "longer than RetryMax")
	_, err = scheduler.New(scheduler.Config{ReserveDelay: -1})
	assert.NilError(t, err)
}

// calls is one call of every kind for a resource manager.
func calls(s *scheduler.Scheduler, id string) []error {
	_, view := s.View(context.Background(), "["+id+"]default")
	all := []error{
		s.UpdateAllocation(&si.AllocationRequest{RmID: id}),
		s.UpdateApplication(&si.ApplicationRequest{RmID: id}),
		s.UpdateNode(&si.NodeRequest{RmID: id}),
		s.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: id}),
		s.Verify(context.Background(), "["+id+"]default"),
		view,
	}
	_, register := s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: id}, newCounter())
	return append(all, register)
}

func TestNilIsAnError(t *testing.T) {
	s, err := scheduler.New(scheduler.Config{})
	assert.NilError(t, err)
	defer s.Stop()
	assert.ErrorIs(t, s.UpdateAllocation(nil), scheduler.ErrNilRequest)
	assert.ErrorIs(t, s.UpdateApplication(nil), scheduler.ErrNilRequest)
	assert.ErrorIs(t, s.UpdateNode(nil), scheduler.ErrNilRequest)
	assert.ErrorIs(t, s.UpdateConfiguration(nil), scheduler.ErrNilRequest)
	_, err = s.RegisterResourceManager(nil, newCounter())
	assert.ErrorIs(t, err, scheduler.ErrNilRequest)
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, nil)
	assert.ErrorIs(t, err, scheduler.ErrNilCallback)
	for _, id := range []string{"", "[rm]", strings.Repeat("x", 2000)} {
		_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: id}, newCounter())
		assert.ErrorContains(t, err, "ID")
	}
}

func TestCallsBeforeRegistrationAreErrors(t *testing.T) {
	s, err := scheduler.New(scheduler.Config{})
	assert.NilError(t, err)
	defer s.Stop()
	for _, err := range calls(s, "rm")[:4] {
		assert.ErrorIs(t, err, scheduler.ErrNotRegistered)
	}
	_, err = s.View(context.Background(), "nowhere")
	assert.ErrorIs(t, err, scheduler.ErrNoPartition)
}

func TestCallsAfterStopAreErrors(t *testing.T) {
	s, err := scheduler.New(scheduler.Config{})
	assert.NilError(t, err)
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, newCounter())
	assert.NilError(t, err)
	s.Stop()
	s.Stop()
	for _, err := range calls(s, "rm") {
		assert.ErrorIs(t, err, scheduler.ErrStopped)
	}
}

// A bubble of synctest ends with a failure if a goroutine in it does not end.
func TestStopEndsEveryGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{Config: twoPartitions})
		m.Join(schedulertest.Options{ID: "other"})
		m.Register()
		m.AddNode("node-1", "vcore=1")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-1", "vcore=2")
		assert.NilError(t, m.Configure(""))
		m.Stop()
	})
}

// StopContext returns when the callback that is under way has; what was decided after it
// is never told.
func TestStopWaitsForACallback(t *testing.T) {
	returned := false
	options := schedulertest.Options{During: func(call schedulertest.Call) error {
		if placedOn(call) != "" {
			time.Sleep(time.Minute)
			returned = true
		}
		return nil
	}}
	options.Scheduler.SkipPredicates = true
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(3)...))
		m.Settle()
		assert.Equal(t, len(m.Application("app-1").Allocations), 3)
		assert.NilError(t, m.StopContext(context.Background()))
		assert.Assert(t, returned)
		assert.DeepEqual(t, responses(m), []int{1})
	})
}

// The same while a predicate is asked, and while one waits to be: nothing is asked
// after the end.
func TestStopWhilePredicatesAreAsked(t *testing.T) {
	asked := 0
	options := schedulertest.Options{
		During: func(call schedulertest.Call) error {
			if placedOn(call) != "" {
				time.Sleep(time.Minute)
			}
			return nil
		},
		Predicates: func(*si.PredicatesArgs) error {
			asked++
			time.Sleep(time.Minute)
			return nil
		},
	}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(2)...))
		m.Settle()
		assert.Equal(t, asked, 1)
		time.Sleep(90 * time.Second) // the first is told, the second waits for that
		viewed := make(chan error)
		go func() {
			_, err := m.View(context.Background(), "[rm]default")
			viewed <- err
		}()
		synctest.Wait()
		go m.Stop()
		assert.ErrorIs(t, <-viewed, scheduler.ErrNoPartition) // at once
		assert.NilError(t, m.StopContext(context.Background()))
		assert.Equal(t, asked, 1)
	})
}

// Registering again wipes everything, also while the former callback is blocked.
func TestRegisteringAgainStartsOver(t *testing.T) {
	gate := new(blocked)
	options := schedulertest.Options{During: gate.on("node-1")}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(3)...))
		m.Settle()
		assert.DeepEqual(t, responses(m), []int{1})

		m.Register()
		assert.Equal(t, len(m.Look().Nodes), 0)
		assert.Equal(t, len(m.Look().Applications), 0)
		before := len(m.Calls())
		gate.letGo()
		m.Settle()
		assert.Equal(t, len(m.Calls()), before)

		m.AddNode("node-1", "vcore=8")
		m.AddApplication("app-1", "root.default")
		m.Place("app-1", "pod-1", "node-1", "vcore=1")
		assert.Equal(t, m.Text(m.Node("node-1").Allocated), "vcore=1000")
		assert.DeepEqual(t, m.Partitions(), []string{"[rm]default"})
	})
}

// The same names in partitions of different resource managers are different
// things, and so are those in two partitions of one.
func TestPartitionsShareNothing(t *testing.T) {
	bubble(t, schedulertest.Options{Config: twoPartitions}, func(t *testing.T, m *schedulertest.MockScheduler) {
		other := m.Join(schedulertest.Options{ID: "other"})
		assert.DeepEqual(t, m.Partitions(), []string{"[other]default", "[rm]default", "[rm]gpu"})
		other.AddNode("node-1", "vcore=1")
		m.AddNode("node-1", "vcore=2")
		gpu := node("node-1", si.NodeInfo_CREATE, "vcore=3")
		gpu.Attributes = map[string]string{"si/node-partition": "gpu"}
		assert.NilError(t, m.UpdateNodeOf(gpu))
		m.Settle()
		for partition, capacity := range map[string]string{
			"[other]default": "vcore=1000", "[rm]default": "vcore=2000", "[rm]gpu": "vcore=3000",
		} {
			view, err := m.View(context.Background(), partition)
			assert.NilError(t, err)
			assert.Equal(t, m.Text(view.Capacity), capacity)
			assert.Equal(t, view.Partition, partition)
		}
	})
}

// Requests that speak of several partitions, in any order and at the same time, do
// not block each other.
func TestRequestsForSeveralPartitions(t *testing.T) {
	third := strings.ReplaceAll(twoPartitions[strings.Index(twoPartitions, "- name: gpu"):], "gpu", "tpu")
	bubble(t, schedulertest.Options{Config: twoPartitions + third}, func(t *testing.T, m *schedulertest.MockScheduler) {
		here := &si.Allocation{PartitionName: "gpu"}
		there := &si.Allocation{PartitionName: "tpu"}
		var senders sync.WaitGroup
		for _, request := range [][]*si.Allocation{{here, there}, {there, here}} {
			senders.Go(func() {
				for range 500 {
					assert.Check(t, m.Send(request...))
				}
			})
		}
		senders.Wait()
		m.Settle()
		assert.Equal(t, len(m.Heard()), 2000)
	})
}

func TestPartitionsMayBeNamedShortOrLong(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		for i, partition := range []string{"", "default", "[rm]default", "[other]default", "nowhere", "[", "rm"} {
			n := node(string(rune('a'+i)), si.NodeInfo_CREATE, "vcore=1")
			n.Attributes = map[string]string{"si/node-partition": partition}
			assert.NilError(t, m.UpdateNodeOf(n))
		}
		m.Settle()
		assert.DeepEqual(t, m.Heard(), []string{
			"node a accepted",
			"node b accepted",
			"node c accepted",
			`node d rejected: "[other]default" is not a partition of the resource manager`,
			`node e rejected: "nowhere" is not a partition of the resource manager`,
			`node f rejected: "[" is not a partition of the resource manager`,
			`node g rejected: "rm" is not a partition of the resource manager`,
		})
	})
}

// A request that does not fit is refused whole, and names the limit.
func TestAFullInboxIsAnError(t *testing.T) {
	gate := new(blocked)
	options := schedulertest.Options{
		Scheduler: scheduler.Config{InboxMax: 6},
		During:    gate.on("node-1"),
		Config:    twoPartitions,
	}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		// The second ask has the partition wait for the callback of the first. Both count:
		// the message that is not delivered, and the ask that is not tried.
		assert.NilError(t, m.Send(asks(2)...))
		m.Settle()
		err := m.Send(asks(5)...)
		assert.ErrorIs(t, err, scheduler.ErrInboxFull)
		assert.ErrorContains(t, err, "[rm]default")
		assert.ErrorContains(t, err, "limit of 6")
		assert.NilError(t, m.Send(asks(3)...))
		assert.ErrorIs(t, m.Send(asks(2)...), scheduler.ErrInboxFull)
		// Of a request for two partitions neither takes anything.
		both := asks(2)
		both = append(both, &si.Allocation{AllocationKey: "other", ApplicationID: "none", PartitionName: "gpu"})
		assert.ErrorIs(t, m.Send(both...), scheduler.ErrInboxFull)
		gate.letGo()
		m.Settle()
		assert.DeepEqual(t, responses(m), []int{1, 1, 1})
		for _, line := range m.Heard() {
			assert.Assert(t, !strings.Contains(line, "other"), line)
		}
		// There is room again.
		assert.NilError(t, m.Send(asks(4)...))
	})
}

// What waits for room costs nothing while nothing changes: nothing is looked at for
// an hour. The room that comes free is used at once.
func TestAFullClusterRests(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	cluster(t, schedulertest.Options{}, "vcore=4", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(50_000)...))
		m.Advance(time.Minute)
		before := m.Look().Work
		assert.Equal(t, before.Placements, uint64(4))
		m.Advance(time.Hour - 2*time.Minute)
		after := m.Look().Work
		assert.Equal(t, after, before)
		begin := time.Now()
		m.Release("app-1", "pod-1")
		assert.Equal(t, m.Look().Work.Placements, uint64(5))
		assert.Equal(t, time.Since(begin), time.Duration(0))
	})
}

func TestCommandsAreRecorded(t *testing.T) {
	var recorded []string
	options := schedulertest.Options{Scheduler: scheduler.Config{Record: func(partition string, at time.Time, c api.Command) {
		if _, ok := c.(api.AddNode); ok && !at.IsZero() {
			recorded = append(recorded, partition)
		}
	}}}
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=1")
		assert.DeepEqual(t, recorded, []string{"[rm]default"})
	})
}

// One line per effect, with the same names for the same things.
func TestEffectsAreLogged(t *testing.T) {
	sink, lines := observer.New(zap.DebugLevel)
	options := schedulertest.Options{Scheduler: scheduler.Config{Logger: zap.New(sink)}}
	cluster(t, options, "vcore=1", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=0")
		m.ReleaseAs("", "", si.TerminationType_STOPPED_BY_RM)
		m.Release("app-2", "pod-1")
		m.Release("", "pod-1")
		var said []string
		for _, entry := range lines.All() {
			said = append(said, entry.Level.String()+" "+entry.Message)
		}
		assert.DeepEqual(t, said, []string{
			"info resource manager registered",
			"info node accepted",
			"info application accepted",
			"info application changed state",
			"info application changed state",
			"debug allocation placed",
			"warn allocation rejected",
			"warn input refused without an answer",
			"debug release of what is not known",
			"debug allocation released",
			"info application changed state",
		})
		placed := lines.FilterMessage("allocation placed").All()[0].ContextMap()
		assert.DeepEqual(t, placed, map[string]any{
			"resourceManager": "rm", "partition": "[rm]default",
			"allocation": "pod-1", "application": "app-1", "node": "node-1",
		})
		unknown := lines.FilterMessage("release of what is not known").All()[0].ContextMap()
		assert.DeepEqual(t, unknown, map[string]any{"partition": "[rm]default", "allocation": "pod-1", "application": "app-2"})
	})
}
