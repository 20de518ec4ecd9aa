package scheduler

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
)

// Without metrics no clock is looked at.
func TestNothingIsMeasuredWithoutMetrics(t *testing.T) {
	assert.Assert(t, meter{}.now().IsZero())
	assert.Assert(t, !meter{metrics.New()}.now().IsZero())
}
