package browser

import (
	"slices"
	"testing"
)

// TestFirstView opens the overview of very much, and logs how long that takes: with nothing
// else on the machine, that is the figure of docs/dashboard.md.
func TestFirstView(t *testing.T) {
	t.Parallel()
	s := onLarge(t).serve(t)
	var took []float64
	for range 3 {
		p := s.open(t, "#/overview", look{})
		took = append(took, evaluate[float64](p, `
			await t.until(() => t.one("main .tile", "Pending") && t.one("main .gauge"), "the overview", 40000);
			return performance.now()`))
	}
	slices.Sort(took)
	t.Logf("the overview after %.0f ms, the median of three", took[1])
}
