package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// A hostile resource manager does something in every callback and answer. Its cluster has
// asks that are placed, refused, and that room is made for.
type hostile struct {
	m     *schedulertest.MockScheduler
	plain bool // it answers the questions that every resource manager does

	mu      sync.Mutex
	do      func(what string) // called without the lock
	entered map[string]int    // nil while it does nothing
}

// begin says what is done in every callback from now on.
func (h *hostile) begin(do func(what string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.do, h.entered = do, map[string]int{}
}

func (h *hostile) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.do, h.entered = nil, nil
}

// names is the callbacks and answers that were called.
func (h *hostile) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.entered))
}

// meddle is called first in each callback and answer.
func (h *hostile) meddle(what string) {
	h.mu.Lock()
	do := h.do
	if h.entered != nil {
		h.entered[what]++
	}
	h.mu.Unlock()
	if do != nil {
		do(what)
	}
}

func (h *hostile) options() schedulertest.Options {
	during := func(call schedulertest.Call) error {
		h.meddle(fmt.Sprintf("%T", call.Message))
		return nil
	}
	if h.plain {
		return schedulertest.Options{Config: twoLeaves, During: during}
	}
	return schedulertest.Options{
		Config: twoLeaves,
		During: during,
		PredicateClass: func(key string) string {
			h.meddle("PredicateClass")
			return key[:1]
		},
		PredicatesOnNodes: func(args *scheduler.PredicatesOnNodesArgs) []error {
			h.meddle("PredicatesOnNodes")
			answers := make([]error, len(args.NodeIDs))
			if strings.HasPrefix(args.AllocationKey, "refused") {
				for i := range answers {
					answers[i] = errors.New("no")
				}
			}
			return answers
		},
		PredicatesWith: func(*scheduler.PredicatesWithArgs) error {
			h.meddle("PredicatesWith")
			return nil
		},
		SelectVictims: func(args *scheduler.SelectVictimsArgs) ([]string, error) {
			h.meddle("SelectVictims")
			return args.Candidates, nil
		},
		DisruptionBudgets: func([]string) []scheduler.DisruptionBudget {
			h.meddle("DisruptionBudgets")
			return nil
		},
	}
}

// live sends what leads to every callback.
func (h *hostile) live() error {
	a := func(key, node string, priority int32, amounts string) *si.Allocation {
		return &si.Allocation{
			AllocationKey: key, ApplicationID: "app", PartitionName: "default", NodeID: node,
			Priority: priority, ResourcePerAlloc: schedulertest.Resource(amounts),
		}
	}
	return errors.Join(
		h.m.UpdateNodeOf(node("node-1", si.NodeInfo_CREATE, "vcore=8"), node("node-2", si.NodeInfo_CREATE, "vcore=8")),
		h.m.UpdateNodeOf(node("node-1", si.NodeInfo_CREATE, "vcore=8")),
		h.m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
			ApplicationID: "app", QueueName: "root.calm", PartitionName: "default", Ugi: &si.UserGroupInformation{User: "u"},
		}}}),
		h.m.Send(a("low-1", "node-1", 1, "vcore=6"), a("low-2", "node-2", 1, "vcore=6"), a("placed", "", 1, "vcore=1"),
			a("refused-1", "", 1, "vcore=1"), a("refused-2", "", 1, "vcore=1"), a("urgent", "", 9, "vcore=5"), a("huge", "", 9, "vcore=600")),
		h.m.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{{ApplicationID: "app", AllocationKey: "placed"}},
		}}),
	)
}

// play runs a step with a hostile resource manager. It ends when all has come to rest.
func (h *hostile) play(t *testing.T, step func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h.m = schedulertest.New(t, h.options())
		h.begin(nil)
		step()
		h.end()
		h.m.Advance(10 * time.Minute)
	})
}

// forEach has a test run for each callback and answer that live leads to.
func forEach(t *testing.T, test func(t *testing.T, plain bool, name string)) {
	t.Helper()
	for _, plain := range []bool{false, true} {
		h := &hostile{plain: plain}
		var names []string
		h.play(t, func() {
			assert.NilError(t, h.live())
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			names = h.names()
		})
		assert.Assert(t, plain && len(names) >= 8 || len(names) >= 11, "%q", names)
		for _, name := range names {
			t.Run(fmt.Sprintf("plain=%v/%s", plain, name), func(t *testing.T) { test(t, plain, name) })
		}
	}
}

// A resource manager registers again from within any of its callbacks, more than once.
// The scheduler begins with nothing each time and works afterwards.
func TestRegisteringFromWithinEveryCallback(t *testing.T) {
	forEach(t, func(t *testing.T, plain bool, name string) {
		h := &hostile{plain: plain}
		h.play(t, func() {
			var times atomic.Int32
			h.begin(func(what string) {
				if what == name && times.Add(1) <= 3 {
					_, err := h.m.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: twoLeaves}, new(silent))
					assert.Check(t, err, name)
				}
			})
			_ = h.live() // what is sent while it registers may be refused
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			assert.Assert(t, times.Load() > 0, name)
			h.m.Look() // what was sent after it registered is there
			assert.NilError(t, h.live(), name)
			h.m.Settle()
			assert.Equal(t, len(h.m.Look().Nodes), 2, name)
		})
	})
}

// silent is a resource manager that does nothing.
type silent struct{}

func (*silent) UpdateAllocation(*si.AllocationResponse) error   { return nil }
func (*silent) UpdateApplication(*si.ApplicationResponse) error { return nil }
func (*silent) UpdateNode(*si.NodeResponse) error               { return nil }
func (*silent) Predicates(*si.PredicatesArgs) error             { return nil }
func (*silent) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}
func (*silent) SendEvent([]*si.EventRecord) {}
func (*silent) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {
}

// From within any of the callbacks all calls that do not wait are made, and those that
// wait with a context that ends. Nothing stands still.
func TestCallsFromWithinEveryCallback(t *testing.T) {
	forEach(t, func(t *testing.T, plain bool, name string) {
		h := &hostile{plain: plain}
		h.play(t, func() {
			var times atomic.Int32
			h.begin(func(what string) {
				if what != name || times.Add(1) > 2 {
					return
				}
				assert.Check(t, h.live(), name)
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_, _ = h.m.View(ctx, partition)
				_, _ = h.m.Snapshot(ctx, partition)
				_ = h.m.Verify(ctx, partition)
				_ = h.m.UpdateConfigurationContext(ctx, &si.UpdateConfigurationRequest{RmID: "rm", Config: ""})
				h.m.Partitions()
				h.m.Unanswered(partition)
			})
			assert.NilError(t, h.live(), name)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			assert.Assert(t, times.Load() > 0, name)
			assert.NilError(t, h.m.Verify(context.Background(), partition), name)
		})
	})
}

// The scheduler stops while any of the callbacks hangs, and from within it. Stop says that
// it has not ended; when the callback returns no goroutine is left, which the bubble
// checks.
func TestStoppingInEveryCallback(t *testing.T) {
	forEach(t, func(t *testing.T, plain bool, name string) {
		for _, within := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				h := &hostile{plain: plain}
				m := schedulertest.New(t, h.options())
				h.m = m
				stop := func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					assert.Check(t, errors.Is(m.StopContext(ctx), context.DeadlineExceeded), name)
				}
				hangs := make(chan struct{})
				h.begin(func(what string) {
					switch {
					case what != name:
					case within:
						stop()
					default:
						<-hangs
					}
				})
				err := h.live()
				assert.Assert(t, within || err == nil, "%v", err) // it may be stopped by then
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if !within {
					assert.NilError(t, h.live(), name)
					stop()
					close(hangs)
				}
				assert.NilError(t, m.StopContext(context.Background()), name)
				assert.ErrorIs(t, h.live(), scheduler.ErrStopped, name)
			})
		}
	})
}

// Amounts that cannot be added up are refused where they come from, whatever it is, and
// the books agree.
func TestAbsurdAmounts(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		huge := &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: math.MaxInt64}}}
		many := &si.Resource{Resources: map[string]*si.Quantity{}}
		for i := range 300 {
			many.Resources[fmt.Sprint("kind-", i)] = &si.Quantity{Value: math.MaxInt64}
		}
		for i, amounts := range []*si.Resource{huge, many, huge, {}, nil} {
			for j, node := range []string{"", "node-1", "nowhere"} {
				for _, app := range []string{"app-1", ""} {
					a := &si.Allocation{
						AllocationKey: fmt.Sprint("a", app, i, j), ApplicationID: app, PartitionName: "default", NodeID: node,
						ResourcePerAlloc: amounts, Priority: math.MinInt32 + int32(i)*math.MaxInt32/2,
					}
					if app == "" {
						a.AllocationTags = map[string]string{"foreign": "default"}
					}
					assert.NilError(t, m.Send(a))
					m.Settle()
				}
			}
			_ = m.UpdateNodeOf(&si.NodeInfo{NodeID: fmt.Sprint("n", i), Action: si.NodeInfo_CREATE, SchedulableResource: amounts})
			m.Settle()
		}
		m.Advance(time.Hour)
		m.Release("app-1", "")
		m.RemoveApplication("app-1")
		m.RemoveNode("node-1")
		m.Advance(time.Hour)
	})
}
