package browser

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// guarantees has queues in each guarantee state: ads and data are under their guarantee and
// wait, search and media are over, billing is within.
var guarantees = &play{
	example: "guarantees.yaml", after: 2 * time.Minute,
	until: func(*api.View) bool { return true },
}

// A shownState is how a panel shows a queue with a guarantee: its name, the words and the colour
// of its guarantee state.
type shownState struct{ Queue, Words, Colour string }

// shown are the queues of a panel with the badges of their guarantee state, in order. Colours
// have the names that the style gives them.
func (p *page) shown(rows, name string) []shownState {
	p.t.Helper()
	return evaluate[[]shownState](p, `
		const probe = document.body.appendChild(document.createElement("i"));
		const named = (colour) => ["--bad", "--warn", "--good"].find((name) => {
			probe.style.setProperty("color", "var(" + name + ")");
			return getComputedStyle(probe).color === colour;
		}) ?? colour;
		const out = t.all(args[0]).map((row) => [row.querySelector(args[1]), row.querySelector(".badge")]).filter(([, badge]) => badge)
			.map(([of, badge]) => ({ Queue: of.firstChild.textContent.trim(), Words: badge.textContent, Colour: named(getComputedStyle(badge).color) }));
		probe.remove();
		return out`, rows, name)
}

// goes changes the address, as a link does.
func (p *page) goes(hash string) {
	p.t.Helper()
	evaluate[any](p, `location.hash = args[0]; return true`, hash)
}

// TestUnderFirst: those that are under their guarantee and wait come first and are red, the one
// with the least part of its guarantee before; those that are over come next and are amber. It
// is so in every panel with queues, in both themes, on a desktop and on a telephone.
func TestUnderFirst(t *testing.T) {
	t.Parallel()
	const red, amber, green = "--bad", "--warn", "--good"
	ranked := []shownState{
		{"ads", "under, waiting", red}, {"data", "under, waiting", red}, {"search", "over", amber}, {"media", "over", amber}, {"billing", "within", green},
	}
	// A tree keeps its order, and is silent of those that are within.
	tree := []shownState{
		{"ads", "under, waiting", red}, {"data", "under, waiting", red}, {"media", "over", amber}, {"search", "over", amber},
	}
	s := guarantees.site(t)
	for _, how := range []look{wide, phoneLight} {
		p := s.open(t, "", how)
		for _, c := range []struct {
			hash, panel, rows, name string
			want                    []shownState
		}{
			{"#/overview", "overview", "main .card tr:has(.badge):has(a[href*='queues/root.'])", "a", ranked},
			{"#/queues?view=guarantees", "queues", "main .table tbody tr", "a", ranked},
			{"#/queues", "queues", "main [role=treeitem]", ".queue-label", tree},
			{"#/queues/root.ads", "queues", "main .details", "h2", []shownState{{"root.ads", "under, waiting", red}}},
			{"#/queues/root.search", "queues", "main .details", "h2", []shownState{{"root.search", "over", amber}}},
		} {
			p.goes(c.hash)
			p.arrives(c.panel)
			p.until(`t.all(args[0]).length >= args[1]`, c.rows, len(c.want))
			assert.DeepEqual(t, p.shown(c.rows, c.name), c.want)
		}
	}
	p := s.page(t, "#/overview")
	p.arrives("overview")
	value, note := p.tile("Under and waiting")
	assert.Equal(t, value+", "+note, "2, 2 queues over")
	p.sees("main .tile-bad", "Under and waiting")
	p.press("4")
	p.arrives("applications")
	p.click("main nav[aria-label=Lists] a", "Pending asks")
	p.sees("main .pager", "22 asks")
	p.choose("guaranteeState", "under and waiting")
	p.sees("main .pager", "18 asks")
	p.choose("guaranteeState", "over")
	p.sees("main .pager", "4 asks")
}

// TestBarsOfQueues: a bar is on the scale of its own queue, not on that of the cluster, which has
// 64 cores: it ends at the max of the queue or, without one, at what is guaranteed or used.
func TestBarsOfQueues(t *testing.T) {
	t.Parallel()
	s := guarantees.site(t)
	p := s.page(t, "#/queues?view=guarantees")
	p.arrives("queues")
	p.sees("main .table tbody tr", "ads")
	const ends = "; guaranteed at "
	bars := func(rows, name string) map[string]string {
		return evaluate[map[string]string](p, `
			const tone = (e) => e.className.replace(/meter-part|meter-mark|fill-|mark-/g, "").trim();
			const of = (bar) => [...bar.querySelectorAll(".meter-part")].map((e) => tone(e) + " " + e.style.width).join(", ")
				+ [...bar.querySelectorAll(".meter-mark")].map((e) => "; " + tone(e) + " at " + e.style.left).join("");
			return Object.fromEntries(t.all(args[0]).map((row) => [row.querySelector(args[1]).textContent.trim(), of(row.querySelector(".meter"))]))`, rows, name)
	}
	assert.DeepEqual(t, bars("main .table tbody tr", "a"), map[string]string{
		"ads":     "lacking 61.27%" + ends + "98.04%",                     // 10 of 16 wait
		"data":    "own 20%, lacking 30%; guaranteed at 50%; max at 100%", // 4 of 10, and 6 of the 8 that wait
		"search":  "own 25%, over 75%; guaranteed at 25%; max at 100%",
		"media":   "own 61.27%, over 36.76%" + ends + "61.27%",
		"billing": "own 49.02%" + ends + "98.04%",
	})
	p = s.page(t, "#/queues")
	p.arrives("queues")
	p.sees("main [role=treeitem]", "ads")
	assert.DeepEqual(t, bars("main [role=treeitem]", ".queue-label"), map[string]string{
		"root":    "own 100%; max at 100%",
		"ads":     "lacking 61.27%; guaranteed at 98.04%",
		"data":    "own 20%, lacking 30%; guaranteed at 50%; max at 100%",
		"nightly": "own 20%; fair at 100%", // what bounds it is the max of data
		"search":  "own 25%, over 75%; guaranteed at 25%; max at 100%",
		"media":   "own 62.5%, over 37.5%; guaranteed at 62.5%",
		"billing": "own 49.02%; guaranteed at 98.04%",
		"tools":   "own 12.5%; fair at 100%",
	})
}
