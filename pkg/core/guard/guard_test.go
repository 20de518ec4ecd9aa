package guard_test

import (
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
)

// TestPausesDouble: each pause is twice as long as the last one, up to the longest, and no number of them
// overflows.
func TestPausesDouble(t *testing.T) {
	var g guard.Guard
	for _, want := range []time.Duration{time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour, guard.PauseMax, guard.PauseMax} {
		assert.Equal(t, g.Next(time.Hour), want)
	}
	g.Times = 1 << 20
	assert.Equal(t, g.Next(time.Hour), guard.PauseMax)
	assert.Equal(t, g.Next(48*time.Hour), 48*time.Hour)
}

// A pause that is doubled ten times as often as it can be is the longest one.
func TestDoublingSaturates(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	assert.Equal(t, guard.Doubled(time.Minute, 3), 8*time.Minute)
	assert.Equal(t, guard.Doubled(time.Minute, 0), time.Minute)
	assert.Equal(t, guard.Doubled(time.Minute, 1000), longest)
	assert.Equal(t, guard.Doubled(longest, 1), longest)
	assert.Equal(t, guard.Doubled(longest/2+1, 1), longest)
	assert.Equal(t, guard.Doubled(0, 1000), time.Duration(0))
}
