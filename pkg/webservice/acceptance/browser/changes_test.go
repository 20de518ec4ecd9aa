package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// TestChanges: a moment of a chart opens its minute, with what changed and what happened then. From there the feed of that
// time is one step away, and another to the latest events.
func TestChanges(t *testing.T) {
	t.Parallel()
	s := k8s.site(t)
	var changes []struct{ Kind, Summary string }
	total := s.read(t, "partition/default/changes", &changes)
	assert.Assert(t, total > 2, "%v", changes)
	p := s.open(t, "#/changes?kind=nodes", look{})
	p.arrives("changes")
	p.sees("main tbody tr", "came")
	p.press("1")
	p.arrives("overview")
	p.chart("Placed and preempted")
	const plot = `t.one("main .chart", "Placed and preempted").querySelector(".chart-plot")`
	assert.Assert(t, evaluate[int](p, `return t.all("main .chart .chart-mark").length`) > 0)
	evaluate[any](p, plot+`.focus(); return true`)
	p.press(kb.Home, kb.Enter)
	p.until(`location.hash.startsWith("#/changes?from=")`)
	p.arrives("changes")
	p.sees("main tbody tr", "")
	p.sees("main .card", "Events of this time")
	assert.Assert(t, evaluate[int](p, `return t.all("main .events-then .event").length`) > 0)
	p.click("main .card-head a", "feed")
	p.until(`location.hash.startsWith("#/events?from=")`)
	p.sees("main .feed .event", "")
	assert.Assert(t, strings.Contains(p.text("main .toolbar"), "from "))
	p.click("main .toolbar a", "Live")
	p.until(`location.hash === "#/events"`)
	p.sees("main .toolbar .badge", "live")
}
