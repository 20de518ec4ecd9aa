package scheduler

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A Recorder makes partitions that are recorded.
type Recorder interface {
	// Begin makes a partition with options, and its steps. It is called from several goroutines.
	Begin(now time.Time, options api.Options, config api.Config) (*core.Partition, Steps)
}

// Steps is how a partition is changed: nothing else changes it. They are made by its owner.
type Steps interface {
	// Apply and Schedule are those of the partition.
	Apply(now time.Time, c api.Command) api.Effects
	Schedule(now time.Time) (fx api.Effects, more bool)
	// End is called after the last step.
	End()
}

// plainSteps are those of a partition that is not recorded.
type plainSteps struct{ *core.Partition }

// End has nothing to do.
func (plainSteps) End() {}

func (c Config) newPartition(now time.Time, options api.Options, config api.Config) (*core.Partition, Steps) {
	if c.Recorder != nil {
		return c.Recorder.Begin(now, options, config)
	}
	p := core.NewPartition(options, config)
	return p, plainSteps{p}
}
