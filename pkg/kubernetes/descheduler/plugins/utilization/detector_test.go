package utilization

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// TestTimeoutOfADetector: when the time of a loaded node is over, also by nothing, it has to be
// observed as often as at first.
func TestTimeoutOfADetector(t *testing.T) {
	c := AnomalyCondition{Timeout: &metav1.Duration{Duration: time.Minute}, ConsecutiveAbnormalities: 2, ConsecutiveNormalities: 2}
	d, now := &detector{}, ft.Now
	assert.Assert(t, !d.observe(now, true, c))
	assert.Assert(t, d.observe(now, true, c))
	assert.Assert(t, d.observe(now.Add(time.Minute-1), true, c))
	assert.Assert(t, !d.observe(now.Add(time.Minute), true, c))
	assert.Assert(t, d.observe(now.Add(time.Minute+1), true, c))
	assert.Assert(t, d.observe(now.Add(time.Minute+2), false, c), "one normal observation")
	assert.Assert(t, !d.observe(now.Add(time.Minute+3), false, c))
}
