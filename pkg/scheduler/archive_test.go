package scheduler_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

func newArchive(t *testing.T) *archive.Archive {
	t.Helper()
	a, err := archive.New(archive.Config{})
	assert.NilError(t, err)
	return a
}

// Books of partitions that are gone since the resource manager registered again are
// closed: ten times as often, there is one.
func TestBooksOfFormerRegistrationsAreClosed(t *testing.T) {
	past := newArchive(t)
	s, err := scheduler.New(scheduler.Config{Archive: past})
	assert.NilError(t, err)
	defer s.Stop()
	name := func(i int) string { return fmt.Sprint("p", i) }
	for i := range 10 {
		_, err := s.RegisterResourceManager(&si.RegisterResourceManagerRequest{
			RmID: "rm", Config: fmt.Sprintf("partitions: [{name: %s, queues: [{name: q}]}]", name(i)),
		}, newCounter())
		assert.NilError(t, err)
		for former := range i {
			assert.Assert(t, past.Book("[rm]"+name(former)) == nil, "%d", former)
		}
		assert.Assert(t, past.Book("[rm]"+name(i)) != nil)
	}
}

// A creation time in the future counts as now, so that no ask comes after all others for
// ever, nor before them by an overflow; what is far off is logged.
func TestCreationTimesInTheFuture(t *testing.T) {
	sink, lines := observer.New(zap.WarnLevel)
	options := schedulertest.Options{Scheduler: scheduler.Config{Logger: zap.New(sink)}}
	cluster(t, options, "vcore=4", func(t *testing.T, m *schedulertest.MockScheduler) {
		now := time.Now()
		for i, seconds := range []int64{now.Unix() + 30, now.Unix() + 3600, math.MaxInt64, now.Unix() - 30} {
			m.Ask("app-1", fmt.Sprint("pod-", i), "vcore=100", func(a *si.Allocation) {
				a.AllocationTags = map[string]string{"creationTime": strconv.FormatInt(seconds, 10)}
			})
		}
		created := map[api.AllocationKey]time.Time{}
		for _, ask := range m.Application("app-1").Asks {
			created[ask.Key] = ask.Created
		}
		for i := range 3 {
			assert.Assert(t, created[api.AllocationKey(fmt.Sprint("pod-", i))].Equal(now), "%d: %v", i, created)
		}
		assert.Equal(t, created["pod-3"].Unix(), now.Unix()-30)
		assert.Equal(t, lines.FilterFieldKey("problem").Len(), 2)
	})
}

// TestCreationTimesWithinASecond: a resource manager that knows whole seconds alone says with the
// digits after the point which of one second came first.
func TestCreationTimesWithinASecond(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=4", func(t *testing.T, m *schedulertest.MockScheduler) {
		time.Sleep(time.Second / 2)
		now := time.Now()
		for i, digits := range []string{"", ".000000007", ".7", ".x00000007", ".0000000071", ".900000000"} {
			m.Ask("app-1", fmt.Sprint("pod-", i), "vcore=100", func(a *si.Allocation) {
				a.AllocationTags = map[string]string{"creationTime": strconv.FormatInt(now.Unix(), 10) + digits}
			})
		}
		created := map[api.AllocationKey]time.Time{}
		for _, ask := range m.Application("app-1").Asks {
			created[ask.Key] = ask.Created
		}
		second := now.Truncate(time.Second)
		assert.DeepEqual(t, created, map[api.AllocationKey]time.Time{
			"pod-0": second, "pod-1": second.Add(7), "pod-2": now, "pod-3": now, "pod-4": now, "pod-5": now,
		})
	})
}

// TestAnApplicationIsKeptAfterItsEnd, and said in one line of the log if it ever
// ran.
func TestAnApplicationIsKeptAfterItsEnd(t *testing.T) {
	sink, lines := observer.New(zap.InfoLevel)
	past := newArchive(t)
	options := schedulertest.Options{Config: oneQueue, Scheduler: scheduler.Config{Archive: past, Logger: zap.New(sink)}}
	cluster(t, options, "vcore=4", func(t *testing.T, m *schedulertest.MockScheduler) {
		book := past.Book("[rm]default")
		m.AddApplication("idle", "root.default")
		m.AddApplication("lost", "root.nowhere")
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Advance(10 * time.Second)
		m.Release("app-1", "pod-1")
		m.Advance(time.Minute)
		m.RemoveApplication("idle")
		m.Settle()

		ended, rejected := book.Finished(time.Now())
		assert.Equal(t, len(ended), 2)
		assert.Equal(t, ended[0].State, "Completed")
		assert.Equal(t, m.Text(ended[0].Used[0].Amounts), "vcore=10000")
		assert.Equal(t, len(rejected), 1)
		usage := lines.FilterMessage("application usage").All()
		assert.Equal(t, len(usage), 1) // idle never ran
		said := usage[0].ContextMap()
		assert.Equal(t, said["application"], "app-1")
		assert.Equal(t, said["partition"], "[rm]default")
		assert.Equal(t, said["state"], "Completed")
		assert.Equal(t, said["finished"], ended[0].Finished.UTC().Format(time.RFC3339Nano))
		assert.DeepEqual(t, said["used"], map[string]any{"UNKNOWN": map[string]any{"vcore": int64(10000)}})
		assert.DeepEqual(t, said["preempted"], map[string]any{})
	})
}

// TestABookIsThatOfItsPartition: one that is made anew begins a new one, and one
// that is gone has none.
func TestABookIsThatOfItsPartition(t *testing.T) {
	past := newArchive(t)
	bubble(t, schedulertest.Options{Scheduler: scheduler.Config{Archive: past}}, func(t *testing.T, m *schedulertest.MockScheduler) {
		first := past.Book("[rm]default")
		assert.Equal(t, first.Since(), time.Now())
		m.AddApplication("app-1", "root.default")
		m.Register()
		second := past.Book("[rm]default")
		assert.Assert(t, first != second && second.Application("app-1") == nil)
		assert.NilError(t, m.Configure("partitions: [{name: other, queues: [{name: root}]}]"))
		m.Settle()
		assert.Assert(t, past.Book("[rm]default") == nil && past.Book("[rm]other") != nil)
	})
}

// A talker says what its state is.
type talker struct {
	manager
	state func() (string, error)
}

func (c talker) GetStateDump() (string, error) { return c.state() }

func TestStateDump(t *testing.T) {
	s, err := scheduler.New(scheduler.Config{})
	assert.NilError(t, err)
	defer s.Stop()
	said, failure := `{"pods":1}`, error(nil)
	c := talker{state: func() (string, error) {
		if said == "" {
			panic("out of pods")
		}
		return said, failure
	}}
	for id, callback := range map[string]siapi.ResourceManagerCallback{"talks": c, "silent": manager{}} {
		_, err := s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: id}, callback)
		assert.NilError(t, err)
	}
	text, err := s.StateDump("talks")
	assert.NilError(t, err)
	assert.Equal(t, text, said)
	failure = errors.New("not now")
	_, err = s.StateDump("talks")
	assert.ErrorIs(t, err, failure)
	said = ""
	_, err = s.StateDump("talks")
	assert.ErrorContains(t, err, "GetStateDump: panic: out of pods")
	for _, id := range []string{"silent", "unknown"} {
		_, err = s.StateDump(id)
		assert.ErrorIs(t, err, errors.ErrUnsupported)
	}
}
