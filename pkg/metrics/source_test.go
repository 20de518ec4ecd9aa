package metrics_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
)

// held are three partitions, of which two do not answer while a callback holds
// them up.
type held struct {
	let   chan struct{} // closed when they may answer
	asked atomic.Int32
}

func (h *held) Partitions() []string { return []string{"held", "held too", "quick"} }

func (h *held) Glance(partition string) (*core.View, error) {
	if partition != "quick" {
		h.asked.Add(1)
		<-h.let
	}
	return &core.View{Root: &core.QueueView{Path: "root"}}, nil
}

const (
	heldUp  = `narwhal_partition_up{partition="held"}`
	heldToo = `narwhal_partition_up{partition="held too"}`
	quickUp = `narwhal_partition_up{partition="quick"}`
	held0   = `narwhal_placements_total{partition="held"}`
	quick0  = `narwhal_placements_total{partition="quick"}`
)

// TestHeldUp scrapes partitions that do not answer. The other is scraped in spite
// of them, and the wait has an end, one for both.
func TestHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{let: make(chan struct{})}
		m := metrics.New()
		m.Watch(h, usual(t))

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

		seriesOf(t, m)
		assert.Equal(t, h.asked.Load(), int32(2), "further scrapes join the question")

		close(h.let)
		synctest.Wait()
		began = time.Now()
		assert.Equal(t, seriesOf(t, m)[heldUp], 1.0)
		assert.Equal(t, time.Since(began), time.Duration(0))
		assert.Equal(t, h.asked.Load(), int32(4))
	})
}

// TestAnswersInTime has a partition answer after a while, but within the wait.
func TestAnswersInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{let: make(chan struct{})}
		m := metrics.New()
		m.Watch(h, usual(t))
		time.AfterFunc(3*time.Second, func() { close(h.let) })
		assert.Equal(t, seriesOf(t, m)[heldUp], 1.0)
	})
}

// TestScrapesAtOnce gathers from several goroutines, while others count.
func TestScrapesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inhabited(t)
		const allocatedLate = `yunikorn_scheduler_container_allocation_attempt_total{partition="late",state="allocated"}`
		for range 4 {
			go func() {
				m.Count("late", batch())
				m.Observe(metrics.Predicate, time.Millisecond)
				_, err := m.Gather()
				assert.Check(t, err)
			}()
		}
		synctest.Wait()
		assert.Equal(t, seriesOf(t, m)[allocatedLate], 4.0)
	})
}
