package feasibility

import (
	"errors"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// TestUntiedPodsDecideNothing takes pods out of random clusters, and asks before and after about
// another pod: where there is no tie, only the answer about the node of that pod may change, and
// refusals that last stay everywhere.
func TestUntiedPodsDecideNothing(t *testing.T) {
	untied, changed, lasting := 0, 0, 0
	for seed := range uint64(60) {
		c, h := twinChecker(t), newHistory(seed+700)
		for step := range 200 {
			h.step(c)
			other := h.anyPod()
			if step < 40 || other == nil {
				continue
			}
			pod := h.pod()
			answers := c.CheckNodes(pod, twinNodes)
			before := texts(answers)
			c.RemovePod(other)
			after := texts(c.CheckNodes(pod, twinNodes))
			for i, err := range answers {
				if refused, ok := errors.AsType[*Refusal](err); ok && refused.Lasting() {
					assert.Equal(t, after[i], before[i], "seed %d, step %d", seed, step)
					lasting++
				}
			}
			c.SetPod(other)
			if at := slices.Index(twinNodes, other.Spec.NodeName); at >= 0 {
				before[at], after[at] = "", ""
			}
			tied := TiesOf(pod).To(TiesOf(other))
			switch same := slices.Equal(before, after); {
			case !tied && !same:
				t.Fatalf("seed %d, step %d: %v\nwithout %v on %s: %q\nbut with it: %q", seed, step, pod, other, other.Spec.NodeName, after, before)
			case !tied:
				untied++
			case !same:
				changed++
			}
			if tied && !TiesOf(pod).Any() && len(antiAffinityOf(other)) == 0 {
				t.Fatalf("seed %d, step %d: a pod without ties is tied to one without anti-affinity", seed, step)
			}
		}
	}
	if untied < 3000 || changed < 40 || lasting < 1000 {
		t.Errorf("the histories show little: %d without ties, %d changed by ties, %d refusals last", untied, changed, lasting)
	}
	t.Logf("%d without ties, %d changed by ties, %d refusals last", untied, changed, lasting)
}
