package browser

import (
	"testing"

	"gotest.tools/v3/assert"
)

// The most elements of a page, however large the cluster is.
const elementsMax = 5000

// TestLarge looks at a very large cluster, in one page.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	s := onLarge(t).serve(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *site)
	}{{"FirstView", firstView}, {"Panels", largePanels}, {"Filter", largeFilter}, {"Memory", largeMemory}} {
		t.Run(part.name, func(t *testing.T) { part.test(t, s) })
	}
}

// largePanels shows every panel, refreshes it and looks at how
// much there is in the page. How long the page was busy is told and not judged: the
// machine may be busy otherwise.
func largePanels(t *testing.T, s *site) {
	has := map[string]string{
		"overview": "5,000", "queues": "221 queues", "nodes": "5,000 nodes", "queue": "root.team-07", "nodes by name": "5,000 nodes",
		"applications": "2,000 applications", "node": "node-00100", "application": "app-0001", "preemption": "Nothing was evicted",
		"pending": "asks", "events": "app-", "what if": "What if",
	}
	s.tour(t, []scene{
		{name: "overview", panel: "overview"},
		{name: "queues", panel: "queues"},
		{name: "nodes", panel: "nodes"},
		{name: "queue", panel: "queues", at: fixed("#/queues/root.team-07")},
		{name: "nodes by name", panel: "nodes", at: fixed("#/nodes?group=pool&zoom=2")},
		{name: "applications", panel: "applications"},
		{name: "node", panel: "nodes", at: fixed("#/nodes/node-00100")},
		{name: "application", panel: "applications", at: fixed("#/applications/app-0001")},
		{name: "preemption", panel: "preemption"},
		{name: "pending", panel: "applications", at: fixed("#/applications?view=pending")},
		{name: "events", panel: "events"},
		{name: "what if", panel: "whatif"},
	}, look{}, func(p *page, c scene) {
		p.sees("main", has[c.name])
		first := p.busy()
		p.refreshed()
		elements := evaluate[int](p, `return document.querySelectorAll("*").length`)
		p.t.Logf("%d elements; tasks of more than 50 ms at first: %v, in a refresh: %v", elements, first, p.busy())
		assert.Assert(p.t, elements < elementsMax, "%d elements", elements)
	})
}

// largeFilter: of many nodes and many asks few are found at once.
func largeFilter(t *testing.T, s *site) {
	p := s.page(t, "#/nodes")
	p.arrives("nodes")
	p.press("/", "node-0012")
	p.sees("main .toolbar", "10 of 5,000 nodes")
	p.press("\x1b4")
	p.arrives("applications")
	p.click("main nav[aria-label=Lists] a", "Pending asks")
	total := s.read(t, "partition/default/asks?limit=1", &[]pod{})
	p.sees("main .pager", "of "+count(total)+" asks")
	p.click("[aria-label='Last page']", "")
	p.sees("main .pager", "–"+count(total)+" of")
}

// largeMemory: a page that stays open does not grow.
func largeMemory(t *testing.T, s *site) {
	p := s.page(t, "#/nodes")
	p.arrives("nodes")
	used := func() float64 {
		return evaluate[float64](p, `
			for (let i = 0; i < 5; i++) { gc(); await t.frames(1); }
			return performance.memory.usedJSHeapSize / 2 ** 20`)
	}
	around := func() {
		for _, panel := range panels {
			p.click("#nav a", panel.title)
			p.arrives(panel.id)
			p.refreshed()
		}
	}
	around() // what is kept on purpose is there from then on
	before := used()
	around()
	after := used()
	t.Logf("%.1f MiB, and %.1f MiB after all panels once more", before, after)
	assert.Assert(t, after < before*1.25+5, "%.1f MiB became %.1f MiB", before, after)
}

// refreshed asks for a refresh and waits for its answers.
func (p *page) refreshed() {
	p.t.Helper()
	evaluate[any](p, `performance.clearResourceTimings(); return true`)
	p.press("r")
	p.until(`document.querySelector("main").dataset.panel === "events" || performance.getEntriesByType("resource").length > 0`) // events come by themselves
	p.fresh()
	evaluate[any](p, `await t.frames(3); return true`)
}

// busy is how long each task of more than 50 ms took since it was asked last, in
// milliseconds.
func (p *page) busy() []int {
	p.t.Helper()
	return evaluate[[]int](p, `await t.frames(2); const tasks = [...t.longTasks]; t.forget(); return tasks`)
}
