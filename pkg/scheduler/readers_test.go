package scheduler_test

import (
	"context"
	"errors"
	"runtime"
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

const partition = "[rm]default"

// hanging is a cluster in which Predicates does not return for pod-1 until letGo is
// called, which the test has to do.
func hanging(t *testing.T, options schedulertest.Options, test func(t *testing.T, m *schedulertest.MockScheduler, letGo func())) {
	t.Helper()
	gate := new(blocked)
	options.Predicates = func(*si.PredicatesArgs) error {
		gate.wait()
		return nil
	}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		test(t, m, gate.letGo)
	})
}

// A snapshot is current while the owner answers. When Predicates hangs it is the last
// one, with its age, after a short wait and then at once.
func TestASnapshotOfABusyPartition(t *testing.T) {
	hanging(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, letGo func()) {
		first, err := m.Snapshot(t.Context(), partition)
		assert.NilError(t, err)
		assert.Equal(t, first.Age, time.Duration(0))
		made := time.Now()
		time.Sleep(time.Minute)
		same, err := m.Snapshot(t.Context(), partition)
		assert.NilError(t, err)
		assert.DeepEqual(t, same.Age, time.Duration(0)) // nothing has happened
		assert.Assert(t, same.View == first.View)
		assert.Equal(t, m.Unanswered(partition), time.Duration(0))
		assert.Equal(t, m.Unanswered("nothing"), time.Duration(0))

		assert.NilError(t, m.Send(asks(1)...))
		synctest.Wait()
		hung := time.Now()
		last, err := m.Snapshot(t.Context(), partition)
		assert.NilError(t, err)
		assert.Equal(t, time.Since(hung), 150*time.Millisecond)
		assert.Equal(t, last.Age, time.Since(made))
		assert.Assert(t, last.View == first.View)

		time.Sleep(10 * time.Second)
		begin := time.Now()
		again, err := m.Snapshot(t.Context(), partition)
		assert.NilError(t, err)
		assert.Equal(t, time.Since(begin), time.Duration(0))
		assert.Equal(t, again.Age, time.Since(made))
		assert.Equal(t, m.Unanswered(partition), time.Since(hung))

		letGo()
		synctest.Wait()
		assert.Equal(t, m.Unanswered(partition), time.Duration(0))
		now, err := m.Snapshot(t.Context(), partition)
		assert.NilError(t, err)
		assert.Equal(t, now.Age, time.Duration(0))
		assert.Equal(t, len(now.View.Applications[0].Allocations), 1)
	})
}

// A scheduler is what the readers of other packages ask for.
var _ interface {
	View(ctx context.Context, partition string) (*api.View, error)
	Snapshot(ctx context.Context, partition string) (struct {
		View *api.View
		Age  time.Duration
	}, error)
	Unanswered(partition string) time.Duration
	ReportReadCost(partition string, took time.Duration)
} = (*scheduler.Scheduler)(nil)

// The first snapshot waits for no callback either: there is a view from the beginning.
func TestFirstSnapshotOfABusyPartition(t *testing.T) {
	hanging(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, letGo func()) {
		assert.NilError(t, m.Send(asks(1)...))
		synctest.Wait()
		begin := time.Now()
		first, err := m.Snapshot(t.Context(), partition)
		assert.NilError(t, err)
		assert.Equal(t, time.Since(begin), 150*time.Millisecond)
		assert.Equal(t, first.View.Root.Path, api.QueuePath("root"))
		_, err = m.Snapshot(t.Context(), "nowhere")
		assert.ErrorIs(t, err, scheduler.ErrNoPartition)
		assert.Equal(t, m.Unanswered("nowhere"), time.Duration(0))
		letGo()
		now, err := m.Snapshot(t.Context(), partition)
		assert.NilError(t, err)
		assert.Equal(t, now.Age, time.Duration(0))
	})
}

// goroutines counts those of the bubble of the test. Tests with bubbles run one after
// the other.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "synctest bubble")
}

// A thousand readers come and go while Predicates does not return. No goroutine is left,
// and each of them returns when its context ends.
func TestReadersOfABusyPartitionLeaveNothing(t *testing.T) {
	hanging(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, letGo func()) {
		_, err := m.Snapshot(t.Context(), partition)
		assert.NilError(t, err)
		assert.NilError(t, m.Send(asks(1)...))
		synctest.Wait()
		before := goroutines()
		assert.Assert(t, before >= 3) // of the test, the owner and the dispatcher
		var readers sync.WaitGroup
		for i := range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%10+1)*time.Second)
			readers.Go(func() {
				defer cancel()
				begin := time.Now()
				switch i % 3 {
				case 0:
					_, err := m.View(ctx, partition)
					assert.Check(t, errors.Is(err, context.DeadlineExceeded) && errors.Is(err, scheduler.ErrNotAnswering), "%v", err)
					assert.Check(t, time.Since(begin) == time.Duration(i%10+1)*time.Second)
				case 1:
					assert.Check(t, errors.Is(m.Verify(ctx, partition), scheduler.ErrNotAnswering))
				default:
					snapshot, err := m.Snapshot(ctx, partition)
					assert.Check(t, err)
					assert.Check(t, snapshot.Age > 0)
				}
			})
		}
		readers.Wait()
		synctest.Wait()
		assert.Equal(t, goroutines(), before)
		letGo()
		assert.NilError(t, m.Verify(t.Context(), partition))
	})
}

// A client that goes away is told nothing.
func TestACancelledReader(t *testing.T) {
	hanging(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, letGo func()) {
		m.Look()
		assert.NilError(t, m.Send(asks(1)...))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := m.Snapshot(ctx, partition)
		assert.ErrorIs(t, err, context.Canceled)
		_, err = m.View(ctx, partition)
		assert.ErrorIs(t, err, context.Canceled)
		letGo()
	})
}

// Many messages do not keep a snapshot waiting, nor do they count as silence.
func TestABusyPartitionAnswersBetweenCommands(t *testing.T) {
	options := schedulertest.Options{Predicates: func(*si.PredicatesArgs) error {
		time.Sleep(time.Millisecond)
		return nil
	}}
	options.Scheduler.PlacementsMax = 10
	cluster(t, options, "vcore=1000", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(1000)...))
		synctest.Wait()
		for range 20 {
			snapshot, err := m.Snapshot(t.Context(), partition)
			assert.NilError(t, err)
			assert.Equal(t, snapshot.Age, time.Duration(0))
			assert.Equal(t, m.Unanswered(partition), time.Duration(0))
			time.Sleep(time.Millisecond)
		}
	})
}

// An update of the configuration gives up when a partition does not answer. The error
// names it and nothing is changed, the extra configuration included.
func TestAnUpdateOfTheConfigurationGivesUp(t *testing.T) {
	options := schedulertest.Options{Config: twoPartitions, ExtraConfig: map[string]string{"a": "1"}}
	hanging(t, options, func(t *testing.T, m *schedulertest.MockScheduler, letGo func()) {
		assert.NilError(t, m.Send(asks(1)...))
		synctest.Wait()
		update := &si.UpdateConfigurationRequest{RmID: "rm", ExtraConfig: map[string]string{"a": "2"}}
		begin := time.Now()
		err := m.UpdateConfiguration(update)
		assert.Equal(t, time.Since(begin), 30*time.Second)
		assert.ErrorIs(t, err, scheduler.ErrNotAnswering)
		assert.ErrorContains(t, err, partition)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		err = m.UpdateConfigurationContext(ctx, update)
		assert.Equal(t, time.Since(begin), time.Second)
		assert.ErrorIs(t, err, scheduler.ErrNotAnswering)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.DeepEqual(t, m.Partitions(), []string{"[rm]default", "[rm]gpu"})
		assert.Equal(t, m.ExtraConfig("rm")["a"], "1")

		letGo()
		assert.NilError(t, m.UpdateConfiguration(update))
		assert.DeepEqual(t, m.Partitions(), []string{"[rm]default"})
		assert.Equal(t, m.ExtraConfig("rm")["a"], "2")
	})
}

// A stop gives up when a callback does not return. The goroutines end when it does, which
// a bubble of synctest checks.
func TestAStopGivesUp(t *testing.T) {
	logs, seen := observer.New(zap.WarnLevel)
	options := schedulertest.Options{}
	options.Scheduler.Logger = zap.New(logs)
	options.Scheduler.AnswerTimeout = time.Minute
	hanging(t, options, func(t *testing.T, m *schedulertest.MockScheduler, letGo func()) {
		assert.NilError(t, m.Send(asks(1)...))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := m.StopContext(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		begin := time.Now()
		m.Stop()
		assert.Equal(t, time.Since(begin), time.Minute)
		assert.Equal(t, seen.FilterMessage("goroutines have not ended").Len(), 1)
		_, err = m.View(t.Context(), partition)
		assert.ErrorIs(t, err, scheduler.ErrStopped)
		letGo()
		assert.NilError(t, m.StopContext(t.Context()))
	})
}

// A reader that waits is told at once when the resource manager registers again or the
// scheduler stops, though the callback does not return.
func TestReadersOfAPartitionThatEnds(t *testing.T) {
	hanging(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, letGo func()) {
		assert.NilError(t, m.Send(asks(1)...))
		synctest.Wait()
		viewed := make(chan error, 1)
		go func() {
			_, err := m.View(context.Background(), partition)
			viewed <- err
		}()
		synctest.Wait()
		begin := time.Now()
		m.Register()
		assert.ErrorIs(t, <-viewed, scheduler.ErrNoPartition)
		assert.Equal(t, time.Since(begin), time.Duration(0))
		assert.Assert(t, strings.HasPrefix(m.Look().Partition, "[rm]"))
		letGo()
	})
}
