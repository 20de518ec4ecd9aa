package metrics_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
)

// slowViews are three partitions, of which two do not answer while a callback holds
// them up.
type slowViews struct {
	let   chan struct{} // closed when they may answer
	asked atomic.Int32
	deaf  bool // they do not look at contexts
}

func (v *slowViews) Partitions() []string { return []string{"held", "held too", "quick"} }

func (v *slowViews) View(ctx context.Context, partition string) (*api.View, error) {
	if partition != "quick" {
		v.asked.Add(1)
		if v.deaf {
			ctx = context.Background()
		}
		select {
		case <-v.let:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &api.View{Root: &api.QueueView{Path: "root"}}, nil
}

const (
	heldUp  = `narwhal_partition_up{partition="held"}`
	heldToo = `narwhal_partition_up{partition="held too"}`
	quickUp = `narwhal_partition_up{partition="quick"}`
	held0   = `narwhal_placements_total{partition="held"}`
	quick0  = `narwhal_placements_total{partition="quick"}`
)

// TestHeldUp scrapes partitions that do not answer. The other is scraped in spite
// of them, and the wait has an end, one for both, after which nothing waits any more.
func TestHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &slowViews{let: make(chan struct{})}
		m := metrics.New()
		m.Watch(v, usual(t))
		for range 2 {
			began := time.Now()
			got := seriesOf(t, m)
			assert.Equal(t, time.Since(began), 4*time.Second)
			assert.Equal(t, got[heldUp], 0.0)
			assert.Equal(t, got[heldToo], 0.0)
			assert.Equal(t, got[quickUp], 1.0)
			_, there := got[quick0]
			assert.Assert(t, there, "the other partition is read")
			_, there = got[held0]
			assert.Assert(t, !there, "what is not known has no series")
		}
		// The end of the bubble finds goroutines that wait for what does not come.
	})
}

// TestHeldUpAndDeaf has partitions that do not look at the end of the wait either.
func TestHeldUpAndDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &slowViews{let: make(chan struct{}), deaf: true}
		m := metrics.New()
		m.Watch(v, usual(t))
		began := time.Now()
		assert.Equal(t, seriesOf(t, m)[quickUp], 1.0)
		assert.Equal(t, time.Since(began), 4*time.Second)
		close(v.let)
		synctest.Wait()
		began = time.Now()
		assert.Equal(t, seriesOf(t, m)[heldUp], 1.0)
		assert.Equal(t, time.Since(began), time.Duration(0))
		assert.Equal(t, v.asked.Load(), int32(4))
	})
}

// TestAnswersInTime has a partition answer after a while, but within the wait.
func TestAnswersInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &slowViews{let: make(chan struct{})}
		m := metrics.New()
		m.Watch(v, usual(t))
		time.AfterFunc(3*time.Second, func() { close(v.let) })
		assert.Equal(t, seriesOf(t, m)[heldUp], 1.0)
	})
}

// TestScrapesAtOnce gathers from several goroutines, while others count.
func TestScrapesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := populated(t)
		const allocatedLate = `yunikorn_scheduler_container_allocation_attempt_total{partition="late",state="allocated"}`
		for range 4 {
			go func() {
				m.Count("late", batch())
				m.Observe(stage.Predicate, time.Millisecond)
				_, err := m.Gather()
				assert.Check(t, err)
			}()
		}
		synctest.Wait()
		assert.Equal(t, seriesOf(t, m)[allocatedLate], 4.0)
	})
}
