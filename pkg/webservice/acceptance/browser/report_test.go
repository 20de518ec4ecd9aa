package browser

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/report"
)

// TestReportTiles: the words of a tile of a report stay within it, also where a kind has a long name.
func TestReportTiles(t *testing.T) {
	t.Parallel()
	theBrowser(t)
	text, err := k8s.text()
	assert.NilError(t, err)
	scenario, err := simulator.Parse(text)
	assert.NilError(t, err)
	result, err := simulator.Run(scenario, simulator.Options{})
	assert.NilError(t, err)
	var written bytes.Buffer
	assert.NilError(t, report.Write(&written, result, report.Origin{}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(written.Bytes()) }))
	t.Cleanup(server.Close)
	p := newPage(t, began, look{width: 700})
	p.do(chromedp.Navigate(server.URL))
	wide := evaluate[[]string](p, `return [...document.querySelectorAll(".tile span")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)`)
	assert.Equal(t, len(wide), 0, "%v", wide)
	assert.Assert(t, evaluate[bool](p, `return [...document.querySelectorAll(".tile span")].some((e) => e.textContent.startsWith("nvidia.com/gpu"))`))
}

// TestAxesAreWhole: the numbers at the axes of charts are not cut, also where they are large.
func TestAxesAreWhole(t *testing.T) {
	t.Parallel()
	p := big.site(t).page(t, "#/overview")
	p.arrives("overview")
	p.until(`t.all("main .chart svg text").length > 0`)
	for _, width := range []int64{1440, 1400, 390} {
		p.becomes(look{width: width})
		cut := evaluate[[]string](p, `return t.all("main .chart svg text").filter((e) => {
			const box = e.getBoundingClientRect(), room = e.ownerSVGElement.getBoundingClientRect();
			return box.left < room.left - 0.5 || box.right > room.right + 0.5 || box.top < room.top - 0.5;
		}).map((e) => e.textContent)`)
		assert.Equal(t, len(cut), 0, "%d: %v", width, cut)
	}
}
