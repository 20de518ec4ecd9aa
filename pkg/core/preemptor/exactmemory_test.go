package preemptor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestFailedStatesAreRemembered: every size is one more than a multiple of 50 and the sum
// is 40 more, but 40 victims are too many, so every set fails. There are far more sets
// than steps, and few different sums: only with those remembered it is known in time.
func TestFailedStatesAreRemembered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 43))
	s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(r, 2)}}
	sum := int64(40 + 50*60)
	for i := range 30 {
		size := int64(1 + 50*(1+i%10))
		s.node.On = append(s.node.On, Candidate{
			Key: fmt.Sprintf("c%03d", i), Created: epoch.Add(-time.Duration(i) * time.Minute),
			Amounts: resources.Amounts{size}, Floors: []int32{0},
		})
	}
	s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 30, Amounts: resources.Amounts{sum}}
	s.node.Floors = []Floor{{Queue: "root.a", Surplus: resources.Limits{sum}}}
	var pl Planner
	d := pl.Plan(epoch, s.cfg, s.ask, s.node)
	assert.Assert(t, d.Reason != Chosen, "%s", d)
	stopped := slices.ContainsFunc(d.Failures, func(f Failure) bool { return f.Why == TooLong })
	t.Logf("%d steps", pl.plan.exact.steps)
	assert.Assert(t, !stopped, "%v", d.Failures)
}
