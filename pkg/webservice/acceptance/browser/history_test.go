package browser

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// historyPoint is what tests read of a point.
type historyPoint struct {
	Used, Guaranteed        map[string]int64
	Placements, Preemptions int64
}

// chart is the text of the chart with a name.
func (p *page) chart(name string) string {
	p.t.Helper()
	p.sees("main .chart", name)
	return evaluate[string](p, `return t.one("main .chart", args[0]).innerText.replace(/\s+/g, " ")`, name)
}

// TestCharts: the values at the end of the charts are those of REST, a queue has its
// guarantee as a line, and what waits is named by its reason.
func TestCharts(t *testing.T) {
	t.Parallel()
	s := k8s.site(t)
	var points []historyPoint
	s.read(t, "partition/default/history?queue=root.ml", &points)
	assert.Assert(t, len(points) > 10, "%d points", len(points))
	last := points[len(points)-1]
	p := s.page(t, "#/queues/root.ml")
	p.arrives("queues")
	text := p.chart("vcore used")
	assert.Assert(t, strings.Contains(text, "used "+amount("vcore", last.Used["vcore"])), text)
	assert.Assert(t, strings.Contains(text, "guaranteed "+amount("vcore", last.Guaranteed["vcore"])), text)
	assert.Equal(t, evaluate[int](p, `return t.one("main .chart", "vcore used").querySelectorAll("polyline.stroke-mark").length`), 1)
	assert.Assert(t, strings.Contains(p.chart("Placed and preempted"), "/min"))
	p.press("1")
	p.arrives("overview")
	text = p.chart("vcore used")
	assert.Assert(t, strings.Contains(text, "capacity"), text)
	p.chart("Pending asks by reason")
}

// TestChartByKeyboard: the arrows go through the moments, and what was chosen there is read
// out. A refresh leaves it as it is; leaving the chart ends it.
func TestChartByKeyboard(t *testing.T) {
	t.Parallel()
	p := k8s.site(t).page(t, "#/overview")
	p.arrives("overview")
	p.chart("Placed and preempted")
	const plot = `t.one("main .chart", "Placed and preempted").querySelector(".chart-plot")`
	now := func() int { return evaluate[int](p, `return Number(`+plot+`.getAttribute("aria-valuenow"))`) }
	evaluate[any](p, plot+`.focus(); return true`)
	end := now()
	assert.Assert(t, end > 10)
	for _, c := range []struct {
		key  string
		want int
	}{{"ArrowLeft", end - 1}, {"ArrowLeft", end - 2}, {"ArrowRight", end - 1}, {"Home", 0}, {"End", end}} {
		evaluate[any](p, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: args[0], bubbles: true, cancelable: true })); return true`, c.key)
		assert.Equal(t, now(), c.want, c.key)
	}
	evaluate[any](p, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true })); return true`)
	p.until(plot + `.querySelector(".chart-cursor") !== null`)
	evaluate[any](p, `document.getElementById("freshness").click(); return true`)
	assert.Equal(t, evaluate[bool](p, `return document.activeElement === `+plot), true)
	assert.Equal(t, now(), 0)
	spoken := evaluate[string](p, `return `+plot+`.getAttribute("aria-valuetext")`)
	assert.Assert(t, strings.Contains(spoken, ":"), spoken)
	evaluate[any](p, `document.activeElement.blur(); return true`)
	p.until(plot + `.querySelector(".chart-cursor") === null`)
}

// TestChartParts: a line is broken where something is missing.
func TestChartParts(t *testing.T) {
	t.Parallel()
	p := k8s.site(t).page(t, "#/overview")
	p.arrives("overview")
	got := evaluate[string](p, `
		const c = await import("./js/parts/chart.js");
		return JSON.stringify([c.parts([1, 2, 3, 4], [0, 10, 20, 90]), c.parts([undefined, 2, undefined, 4], [0, 10, 20, 30]),
			[0, 2, 3, 41, 99, 101].map(c.niceCeil), [0, 3, 5000, 700 * 2 ** 30].map(c.niceBytes)])`)
	assert.Equal(t, got, `[[[0,1,2],[3]],[[1],[3]],[2,2,4,60,100,200],[2,4,8192,1099511627776]]`)
}
