package browser

import (
	"testing"

	"gotest.tools/v3/assert"
)

// firstMax is the most milliseconds until a page of the large stage shows something useful.
// On a machine that does nothing else it is a fraction of that.
const firstMax = 5000

// TestFirstView: the overview of very much is there soon.
func TestFirstView(t *testing.T) {
	t.Parallel()
	p := onLarge(t).serve(t).open(t, "#/overview", look{})
	took := evaluate[float64](p, `
		await t.until(() => t.one("main .tile", "Pending") && t.one("main .gauge"), "the overview", 40000);
		return performance.now()`)
	t.Logf("the overview after %.0f ms", took)
	assert.Assert(t, took < firstMax, "%.0f ms", took)
}
