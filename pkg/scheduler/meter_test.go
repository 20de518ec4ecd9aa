package scheduler

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
)

// Without metrics no clock is looked at.
func TestNothingIsMeasuredWithoutMetrics(t *testing.T) {
	assert.Assert(t, meter{}.now().IsZero())
	assert.Assert(t, !meter{metrics.New()}.now().IsZero())
	assert.Assert(t, meter{}.lap(metrics.Apply, time.Time{}).IsZero())
}

// measured is how many stages were measured.
func measured(t *testing.T, m meter) (laps uint64) {
	t.Helper()
	families, err := m.metrics.Gather()
	assert.NilError(t, err)
	for _, family := range families {
		if family.GetName() != "narwhal_stage_seconds" {
			continue
		}
		for _, one := range family.GetMetric() {
			laps += one.GetHistogram().GetSampleCount()
		}
	}
	return laps
}

// One stage begins when the one before it ends.
func TestALapIsTheEndAndTheBeginning(t *testing.T) {
	m := meter{metrics.New()}
	began := time.Now()
	ended := m.lap(metrics.Apply, began)
	assert.Assert(t, ended.After(began))
	assert.Equal(t, measured(t, m), uint64(1))
}

// Each callback is measured once, as is the wait before those that are taken together.
func TestCallbacksAreMeasured(t *testing.T) {
	m := meter{metrics.New()}
	x := newOutbox(m)
	k := &keeper{}
	d := &dispatcher{callback: k, allocationsMax: 1, log: newEffectLog(newLoggers(zap.NewNop()), "rm"), meter: m, recorder: &recorder{}}
	for range 3 {
		put(x, testOwner(), core.Placed{Allocation: running("pod", "node")})
	}
	k.then = x.close // after the third
	x.deliver(d)
	assert.Equal(t, len(k.kept), 3)
	assert.Equal(t, measured(t, m), uint64(1+3))
}
