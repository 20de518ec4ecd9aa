package scheduler

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
)

// A meter measures how long the stages of scheduling take. The zero value
// measures nothing and looks at no clock.
type meter struct{ metrics *metrics.Metrics }

// now is the time, if anything is measured.
func (m meter) now() time.Time {
	if m.metrics == nil {
		return time.Time{}
	}
	return time.Now()
}

// took notes that a stage which began at a time has ended. A stage that began
// before anything was measured is left out.
func (m meter) took(stage metrics.Stage, since time.Time) {
	if m.metrics != nil && !since.IsZero() {
		m.metrics.Observe(stage, time.Since(since))
	}
}

// lap notes that a stage has ended at which another one begins, and says when that is. It
// reads one clock once, which is much of the time of a small command; time.Now reads two.
func (m meter) lap(stage metrics.Stage, since time.Time) time.Time {
	if m.metrics == nil {
		return since
	}
	took := time.Since(since)
	m.metrics.Observe(stage, took)
	return since.Add(took)
}

// count counts the effects of one step of a partition.
func (m meter) count(partition string, effects core.Effects) {
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
