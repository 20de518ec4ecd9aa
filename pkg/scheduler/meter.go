package scheduler

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
)

// A meter measures how long the stages of scheduling take. The zero value
// measures nothing and looks at no clock.
type meter struct{ metrics Metrics }

// Metrics counts what partitions do and how long that takes. Package metrics has one for
// Prometheus. All methods are called at the same time from any goroutines; Observe and Count,
// which are called for every step, should make no garbage.
type Metrics interface {
	// Observe notes that a stage took so long.
	Observe(of stage.Stage, took time.Duration)
	// Count counts the effects of one step of a partition, which must not be changed.
	Count(partition string, effects api.Effects)
	// CountPanic counts a panic of a callback of a resource manager.
	CountPanic(callback string)
	// CountUnanswered counts an input that was refused without an answer.
	CountUnanswered(partition string)
}

// now is the time, if anything is measured.
func (m meter) now() time.Time {
	if m.metrics == nil {
		return time.Time{}
	}
	return time.Now()
}

// took notes that a stage which began at a time has ended. A stage that began
// before anything was measured is left out.
func (m meter) took(of stage.Stage, since time.Time) {
	if m.metrics != nil && !since.IsZero() {
		m.metrics.Observe(of, time.Since(since))
	}
}

// lap notes that a stage has ended at which another one begins, and says when that is. It
// reads one clock once, which is much of the time of a small command; time.Now reads two.
func (m meter) lap(of stage.Stage, since time.Time) time.Time {
	if m.metrics == nil {
		return since
	}
	took := time.Since(since)
	m.metrics.Observe(of, took)
	return since.Add(took)
}

// count counts the effects of one step of a partition.
func (m meter) count(partition string, effects api.Effects) {
	if m.metrics != nil {
		m.metrics.Count(partition, effects)
	}
}

// panicked counts a panic of a callback of a resource manager.
func (m meter) panicked(callback string) {
	if m.metrics != nil {
		m.metrics.CountPanic(callback)
	}
}

// unanswered counts an input that was refused without an answer.
func (m meter) unanswered(partition string) {
	if m.metrics != nil {
		m.metrics.CountUnanswered(partition)
	}
}
