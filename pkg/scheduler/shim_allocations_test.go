package scheduler_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// cluster is one node and one application.
func cluster(t *testing.T, options schedulertest.Options, capacity string, test func(t *testing.T, m *schedulertest.MockScheduler)) {
	t.Helper()
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", capacity)
		m.AddApplication("app-1", "root.default")
		m.Heard()
		test(t, m)
	})
}

func TestAKnownKeyWithOtherResourcesIsResizedWithoutAnswer(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=4", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Heard()
		m.Place("app-1", "pod-1", "node-1", "vcore=3")
		assert.DeepEqual(t, m.Heard(), []string{})
		assert.Equal(t, m.Text(m.Node("node-1").Allocated), "vcore=3000")
		assert.Equal(t, m.Text(m.Queue("root.default").Used), "vcore=3000")
	})
}

func TestAnExistingAllocationIsForcedIn(t *testing.T) {
	config := `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - name: default
      resources:
        max: {vcore: 1}
`
	cluster(t, schedulertest.Options{Config: config}, "vcore=2", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.DrainNode("node-1")
		m.Place("app-1", "pod-1", "node-1", "vcore=5")
		assert.Equal(t, m.Text(m.Node("node-1").Available), "vcore=-3000")
		assert.Equal(t, m.Text(m.Queue("root.default").Used), "vcore=5000")
	})
}

// responses are the allocation responses with placed allocations, as numbers of
// them.
func responses(m *schedulertest.MockScheduler) (sizes []int) {
	for _, call := range m.Calls() {
		if r, ok := call.Message.(*si.AllocationResponse); ok && len(r.New) > 0 {
			sizes = append(sizes, len(r.New))
		}
	}
	return sizes
}

func asks(n int) []*si.Allocation {
	amounts := schedulertest.Resource("vcore=1")
	all := make([]*si.Allocation, n)
	for i := range all {
		all[i] = &si.Allocation{
			AllocationKey:    fmt.Sprintf("pod-%d", i+1),
			ApplicationID:    "app-1",
			ResourcePerAlloc: amounts,
		}
	}
	return all
}

func TestOneAllocationPerResponse(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(5)...))
		m.Settle()
		assert.DeepEqual(t, responses(m), []int{1, 1, 1, 1, 1})
	})
}

func TestSeveralAllocationsPerResponseWhereAskedFor(t *testing.T) {
	options := schedulertest.Options{Scheduler: scheduler.Config{BatchAllocations: 2, SkipPredicates: true}}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(5)...))
		m.Settle()
		total := 0
		for _, n := range responses(m) {
			assert.Assert(t, n <= 2)
			total += n
		}
		assert.Equal(t, total, 5)
		assert.Assert(t, len(responses(m)) <= 4)
	})
}

func TestAReleaseOfTheResourceManagerIsEchoed(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Heard()
		m.Release("app-1", "pod-1")
		assert.Equal(t, m.Heard()[0], "allocation pod-1 released: STOPPED_BY_RM")
		for _, call := range m.Calls() {
			if r, ok := call.Message.(*si.AllocationResponse); ok && len(r.Released) > 0 {
				assert.Equal(t, r.Released[0].PartitionName, "[rm]default")
			}
		}
	})
}

func TestACancelledAskHasNoAnswer(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=1", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1")
		m.Heard()
		m.Release("app-1", "pod-2")
		assert.DeepEqual(t, m.Heard(), []string{})
	})
}

// The types with which a resource manager confirms what the scheduler started are
// not announced again.
func TestAConfirmationIsNotEchoed(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		for i, termination := range []si.TerminationType{
			si.TerminationType_TIMEOUT, si.TerminationType_PREEMPTED_BY_SCHEDULER, si.TerminationType_PLACEHOLDER_REPLACED,
		} {
			key := fmt.Sprint("pod-", i)
			m.Ask("app-1", key, "vcore=1")
			m.Heard()
			m.ReleaseAs("app-1", key, termination)
			for _, line := range m.Heard() {
				assert.Assert(t, !strings.Contains(line, "released"), line)
			}
			assert.Equal(t, m.Text(m.Node("node-1").Allocated), "nothing")
		}
	})
}

func TestReleasesOfWhatIsGoneDoNothing(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1")
		m.Release("app-1", "pod-1")
		m.Heard()
		m.Release("app-1", "pod-1")
		m.Release("app-1", "never seen")
		m.Release("never seen", "pod-2")
		m.Release("never seen", "")
		m.Release("", "never seen")
		m.ReleaseAs("app-1", "pod-1", si.TerminationType_PLACEHOLDER_REPLACED)
		m.FailBinding("app-1", "pod-1")
		assert.DeepEqual(t, m.Heard(), []string{})
		assert.Equal(t, m.Text(m.Node("node-1").Allocated), "vcore=1000")
	})
}

func TestARejectedAskMayBeReleased(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=0")
		m.Release("app-1", "pod-1")
		assert.DeepEqual(t, m.Heard(), []string{"allocation pod-1 rejected: allocation contains no resources"})
	})
}

func TestAllOfAnApplicationMayBeReleased(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=1", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1")
		m.Release("app-1", "")
		assert.Equal(t, m.Text(m.Queue("root").Used), "nothing")
		assert.Equal(t, m.Text(m.Queue("root").Pending), "nothing")
	})
}

// The pod that could not be bound is pending again, and tried elsewhere where
// there is an elsewhere.
func TestAFailureToBindIsTriedAgainElsewhere(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-2", "vcore=8")
		m.Ask("app-1", "pod-1", "vcore=1")
		first := m.WaitPlaced("pod-1")
		m.Heard()
		m.FailBinding("app-1", "pod-1")
		assert.DeepEqual(t, m.Heard(), []string{})
		assert.Equal(t, len(m.Application("app-1").Asks), 1)
		m.Advance(time.Second)
		second, _ := m.Placed("pod-1")
		assert.Assert(t, first != second, "%s, %s", first, second)
		assert.DeepEqual(t, m.Heard(), []string{"allocation pod-1 placed on " + second})
	})
}

// The error of a callback changes nothing: the resource manager corrects with
// requests what it could not do.
func TestTheErrorOfACallbackStopsNothing(t *testing.T) {
	options := schedulertest.Options{During: func(schedulertest.Call) error { return errors.New("cannot") }}
	options.Scheduler.SkipPredicates = true
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(3)...))
		m.Settle()
		assert.Equal(t, m.Text(m.Node("node-1").Allocated), "vcore=3000")
		assert.DeepEqual(t, responses(m), []int{1, 1, 1})
	})
}

func TestAnAskThatFitsNowhereIsReportedOnce(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=1", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=2")
		m.Advance(time.Hour)
		reported := 0
		for _, call := range m.Calls() {
			if r, ok := call.Message.(*si.UpdateContainerSchedulingStateRequest); ok {
				assert.Equal(t, r.AllocationKey, "pod-1")
				assert.Equal(t, r.State, si.UpdateContainerSchedulingStateRequest_FAILED)
				reported++
			}
		}
		assert.Equal(t, reported, 1)
	})
}

func TestRequestsAreNotChanged(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		all := asks(1)
		all[0].AllocationTags = map[string]string{"a": "b"}
		before := all[0].String()
		assert.NilError(t, m.Send(all...))
		m.Settle()
		assert.Equal(t, all[0].String(), before)
		// What was sent may be used again for something else.
		all[0].AllocationTags["a"] = "c"
		assert.Equal(t, m.Node("node-1").Allocations[0].Tags["a"], "b")
	})
}
