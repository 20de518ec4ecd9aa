package simulation

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
)

// TestSoftRequestsFollowTheirReason: owners are asked to end pods since their node is hot, and do not. When it has cooled nothing is asked for
// after an hour; as long as it is hot they are asked again.
func TestSoftRequestsFollowTheirReason(t *testing.T) {
	for _, cools := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newMigrating(t, migratable(hotNode(0, schedulerName)), unlimited)
			w.run(strings.Replace(coolPolicy, "    balance:", "    evict: {enabled: [SoftEviction]}\n    balance:", 1), unlimited)
			w.Advance(2 * cycleEvery)
			first := w.asked()
			assert.Assert(t, first > 0)
			if cools {
				for _, p := range w.pods() {
					w.ChangePod(p.Name, func(p *v1.Pod) { p.Annotations[used] = "10m" })
				}
			}
			w.Advance(50 * time.Minute)
			assert.Equal(t, w.asked(), first, "no other pods are asked for in place of these")
			w.Advance(30 * time.Minute)
			if cools {
				first = 0
			}
			assert.Equal(t, w.asked(), first)
			assert.Equal(t, len(w.evicted), 0)
		})
	}
}
