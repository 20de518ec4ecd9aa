package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// TestHistoryIsKept asks after ten steps what there was. A reload of the configuration in
// between loses nothing, and the guarantee that it brings is in the points after it.
func TestHistoryIsKept(t *testing.T) {
	past := newArchive(t)
	options := schedulertest.Options{Config: oneQueue, Scheduler: scheduler.Config{Archive: past}}
	cluster(t, options, "vcore=4", func(t *testing.T, m *schedulertest.MockScheduler) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			scheduler.KeepHistory(ctx, m.Scheduler)
		}()
		step := past.HistoryStep()
		// Of the bubble. What is done comes between two points, so that none is at the same moment.
		time.Sleep(step + step/2)
		m.Ask("app-1", "pod-1", "vcore=1")
		time.Sleep(2 * step)
		assert.NilError(t, m.Configure(`partitions: [{name: default, queues: [{name: default, resources: {guaranteed: {vcore: 3}}}]}]`))
		time.Sleep(2 * step)
		synctest.Wait()
		cancel()
		<-done
		book := past.Book(m.Scheduler.Partitions()[0])
		points, placed := book.History("root", time.Time{}), int64(0)
		assert.Equal(t, len(points), 6)
		for _, p := range points {
			placed += p.Placements
		}
		assert.Equal(t, placed, int64(1))
		assert.Assert(t, points[0].Used.IsZero() && !points[5].Used.IsZero())
		of := book.History("root.default", time.Time{})
		assert.Equal(t, len(of), 6)
		assert.Assert(t, of[3].Guaranteed.IsZero() && !of[4].Guaranteed.IsZero(), "%v", of)
	})
}

// TestHistoryNeedsAnArchive returns at once without one.
func TestHistoryNeedsAnArchive(t *testing.T) {
	s, err := scheduler.New(scheduler.Config{})
	assert.NilError(t, err)
	defer s.Stop()
	scheduler.KeepHistory(context.Background(), s)
}
