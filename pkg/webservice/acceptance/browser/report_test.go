package browser

import (
	"bytes"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/report"
)

// reportOf serves the report of a scenario.
func reportOf(t *testing.T, text string) (address string) {
	t.Helper()
	scenario, err := simulator.Parse(text)
	assert.NilError(t, err)
	result, err := simulator.Run(scenario, simulator.Options{})
	assert.NilError(t, err)
	var written bytes.Buffer
	assert.NilError(t, report.Write(&written, result, report.Origin{}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(written.Bytes()) }))
	t.Cleanup(server.Close)
	return server.URL
}

// TestReportScreenshot takes the picture of the first page, which is the report of make run; with -update it is written.
func TestReportScreenshot(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	theBrowser(t)
	text, err := simulator.ExampleText("teams")
	assert.NilError(t, err)
	p := newPage(t, began, look{width: 1180, height: 1420})
	p.do(chromedp.Navigate(reportOf(t, text)))
	taken, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	assert.NilError(t, err)
	screenshot, err := png.Decode(bytes.NewReader(taken))
	assert.NilError(t, err)
	somethingOn(t, screenshot)
	const path = "../../../../docs/report.png"
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(path, compressed(t, screenshot), 0o644))
	}
	written, err := os.ReadFile(path)
	assert.NilError(t, err)
	kept, err := png.DecodeConfig(bytes.NewReader(written))
	assert.NilError(t, err)
	assert.Equal(t, kept.Width, screenshot.Bounds().Dx())
	assert.Assert(t, len(written) <= screenshotMax, "%d bytes", len(written))
}

// TestReportTiles: the words of a tile of a report stay within it, also where a kind has a long name.
func TestReportTiles(t *testing.T) {
	t.Parallel()
	theBrowser(t)
	text, err := k8s.text()
	assert.NilError(t, err)
	p := newPage(t, began, look{width: 700})
	p.do(chromedp.Navigate(reportOf(t, text)))
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
