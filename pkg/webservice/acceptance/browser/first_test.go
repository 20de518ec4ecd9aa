package browser

import (
	"testing"

	"gotest.tools/v3/assert"
)

// What the page may send for until its first picture, and how much may come back. The
// picture of 5,000 nodes and 50,000 pods is counts, so it is as small as that of few.
const (
	firstRequestsMax = 6
	firstBytesMax    = 16 << 10
)

// firstView opens the overview of very much, in a page that is new. What it needs for that is bounded; how long
// it takes is logged only: with nothing else on the machine, that is the figure of
// docs/dashboard.md.
func firstView(t *testing.T, s *site) {
	type view struct {
		Took            float64
		Requests, Bytes int
		Names           []string
	}
	p := s.page(t, "#/overview")
	seen := evaluate[view](p, `
		await t.until(() => t.one("main .tile", "Pending") && t.one("main .gauge"), "the overview", 40000);
		const took = performance.now();
		const asked = performance.getEntriesByType("resource").filter((e) => e.startTime <= took && e.name.includes("/ws/v1/"));
		return { Took: took, Requests: asked.length, Bytes: asked.reduce((sum, e) => sum + e.decodedBodySize, 0), Names: asked.map((e) => e.name + " " + e.decodedBodySize) }`)
	t.Logf("the overview after %.0f ms, %d requests, %d bytes: %q", seen.Took, seen.Requests, seen.Bytes, seen.Names)
	assert.Assert(t, 0 < seen.Requests && seen.Requests <= firstRequestsMax, "%d requests", seen.Requests)
	assert.Assert(t, 0 < seen.Bytes && seen.Bytes <= firstBytesMax, "%d bytes", seen.Bytes)
}
