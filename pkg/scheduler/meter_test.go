package scheduler

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
)

// Without metrics no clock is looked at.
func TestNothingIsMeasuredWithoutMetrics(t *testing.T) {
	assert.Assert(t, meter{}.now().IsZero())
	assert.Assert(t, !meter{&counted{}}.now().IsZero())
	assert.Assert(t, meter{}.lap(stage.Apply, time.Time{}).IsZero())
}

// counted is what was measured and counted, by one goroutine.
type counted struct {
	laps   int
	panics map[string]int
}

func (c *counted) Observe(stage.Stage, time.Duration) { c.laps++ }
func (c *counted) Count(string, api.Effects)          {}
func (c *counted) CountPanic(callback string)         { c.panics[callback]++ }
func (c *counted) CountUnanswered(string)             {}

// One stage begins when the one before it ends.
func TestALapIsTheEndAndTheBeginning(t *testing.T) {
	c := &counted{}
	m := meter{c}
	began := time.Now()
	ended := m.lap(stage.Apply, began)
	assert.Assert(t, ended.After(began))
	assert.Equal(t, c.laps, 1)
}

// Each callback is measured once, as is the wait before those that are taken together.
func TestCallbacksAreMeasured(t *testing.T) {
	c := &counted{}
	m := meter{c}
	x := newOutbox(m)
	k := &keeper{}
	d := &dispatcher{callback: k, allocationsMax: 1, log: newEffectLog(newLoggers(zap.NewNop()), "rm"), meter: m, recorder: &recorder{}}
	for range 3 {
		put(x, testOwner(), api.Placed{Allocation: running("pod", "node")})
	}
	k.then = x.close // after the third
	x.deliver(d)
	assert.Equal(t, len(k.kept), 3)
	assert.Equal(t, c.laps, 1+3)
}
