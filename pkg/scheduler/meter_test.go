package scheduler

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
)

// Without metrics no clock is looked at.
func TestNothingIsMeasuredWithoutMetrics(t *testing.T) {
	assert.Assert(t, meter{}.now().IsZero())
	assert.Assert(t, !meter{metrics.New()}.now().IsZero())
	assert.Assert(t, meter{}.lap(metrics.Apply, time.Time{}).IsZero())
}

// One stage begins when the one before it ends.
func TestALapIsTheEndAndTheBeginning(t *testing.T) {
	m := meter{metrics.New()}
	began := time.Now()
	ended := m.lap(metrics.Apply, began)
	assert.Assert(t, ended.After(began))
	families, err := m.metrics.Gather()
	assert.NilError(t, err)
	var laps uint64
	for _, family := range families {
		if family.GetName() != "narwhal_stage_seconds" {
			continue
		}
		for _, one := range family.GetMetric() {
			laps += one.GetHistogram().GetSampleCount()
		}
	}
	assert.Equal(t, laps, uint64(1))
}
