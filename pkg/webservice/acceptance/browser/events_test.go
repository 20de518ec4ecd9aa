package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// What tests read of an event.
type event struct {
	Type                               int
	ObjectID, ReferenceID, Message     string
	EventChangeType, EventChangeDetail int
	TimestampNano                      int64
	Count                              int
}

// events are the latest of the history, the newest first.
func (s *site) events(t *testing.T, most int) []event {
	t.Helper()
	var page struct {
		LowestID, HighestID uint64
		EventRecords        []event
	}
	s.read(t, "events/batch?count=1", &page)
	from := max(page.LowestID, page.HighestID-uint64(most)+1)
	s.read(t, fmt.Sprintf("events/batch?start=%d&count=%d", from, most), &page)
	slices.Reverse(page.EventRecords)
	return page.EventRecords
}

// feed waits until the newest event is on top.
func (p *page) feed(newest event) {
	p.t.Helper()
	p.until(`t.one("main .event") && t.one("main .event").textContent.includes(args[0]) && t.one("main .event").textContent.startsWith(args[1])`, newest.ObjectID, at(newest.TimestampNano))
}

// TestEvents: the newest events are there in words, in their order.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	list := s.events(t, 20)
	p := s.page(t, "#/events")
	p.arrives("events")
	p.sees("main .badge", "live")
	p.feed(list[0])
	rows := evaluate[[]string](p, `return t.all("main .event").slice(0, 15).map((e) => e.textContent)`)
	for i, row := range rows {
		assert.Assert(t, strings.HasPrefix(row, at(list[i].TimestampNano)), row)
		assert.Assert(t, strings.Contains(row, list[i].ObjectID), row)
	}
}

// TestEventFilters: events are picked by what they are about, by words and by how grave
// they are, and the address says which.
func TestEventFilters(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "#/events")
	p.arrives("events")
	p.feed(s.events(t, 1)[0])
	p.click("main .reason", "nodes")
	p.until(`location.hash === "#/events?types=3" && t.all("main .event").every((e) => e.querySelector(".event-type").textContent.includes("node"))`)
	p.press("/", "a100-03", kb.Enter)
	p.until(`t.all("main .event").length > 0 && t.all("main .event").every((e) => e.textContent.includes("a100-03"))`)
	p.sees("main .event", "schedulable: false")
	hash := evaluate[string](p, `return location.hash`)
	other := s.page(t, hash)
	other.arrives("events")
	other.until(`t.all("main .event").length > 0 && t.all("main .event").every((e) => e.textContent.includes("a100-03"))`)
	other.press("/", "nothing is called so", kb.Enter)
	other.sees("main .state-empty", "No event is like that")
	other.click("main .state-empty a", "Show all")
	other.feed(s.events(t, 1)[0])

	marked := s.page(t, "#/events?only=marked")
	marked.arrives("events")
	marked.sees("main .event", "is evicted")
	marked.until(`!t.all("main .event").some((e) => e.textContent.includes("runs on"))`)
}

// TestEventsLive: what happens is on the page by itself, but not while it is paused.
func TestEventsLive(t *testing.T) {
	t.Parallel()
	s := teams.on(t).apart()
	var err error
	s.history, err = events.NewHistory("live", events.Config{})
	assert.NilError(t, err)
	happens := func(node string) {
		s.history.Publish([]*si.EventRecord{{
			Type: si.EventRecord_NODE, ObjectID: node, EventChangeType: si.EventRecord_ADD, EventChangeDetail: si.EventRecord_DETAILS_NONE,
			TimestampNano: s.now.UnixNano(),
		}})
	}
	p := s.serve(t).open(t, "#/events", look{})
	p.arrives("events")
	p.sees("main .state-empty", "Nothing has happened yet")
	happens("node-1")
	p.sees("main .event", "node-1")
	p.click("main .toolbar button", "Pause")
	p.sees("main .badge", "paused")
	happens("node-2")
	p.sees("main .toolbar button", "1 new")
	assert.Assert(t, !strings.Contains(p.text("main .feed"), "node-2"))
	p.click("main .toolbar button", "Resume")
	p.sees("main .event", "node-2")
	p.sees("main .badge", "live")
	for range 3 {
		happens("node-3") // what repeats is counted
	}
	p.sees("main .event", "node-3")
}

// TestEventsAreLeft: another panel is not painted over by the feed, whose stream ends then.
func TestEventsAreLeft(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "#/events")
	p.arrives("events")
	p.feed(s.events(t, 1)[0])
	shown := evaluate[[]string](p, `
		const later = setTimeout, main = document.querySelector("main"), shown = new Set();
		const observer = new MutationObserver(() => main.dataset.panel === "users" && shown.add(main.querySelector("h1")?.textContent ?? ""));
		observer.observe(main, { childList: true, subtree: true });
		globalThis.setTimeout = (run, ms, ...args) => later(run, ms < 1000 ? 0 : ms, ...args); // what is put off a little comes at once
		try {
			location.hash = "#/users";
			await t.until(() => main.dataset.panel === "users" && t.one("main h1", "Users"), "the users", 20000);
			await t.frames(10);
			return [...shown].filter((title) => title !== "");
		} finally {
			globalThis.setTimeout = later;
			observer.disconnect();
		}`)
	assert.DeepEqual(t, shown, []string{"Users"})
}

// TestEventsByTab: however fast the key is, there is always a next event below the one
// with the focus.
func TestEventsByTab(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "#/events")
	p.arrives("events")
	p.feed(s.events(t, 1)[0])
	p.focus("main .event button")
	for range 5 {
		p.press(strings.Repeat(kb.Tab, 20))
		assert.Assert(t, evaluate[bool](p, `return document.activeElement.closest("main .event") !== null`))
	}
	p.until(`t.one("main .feed").scrollTop > 0`)
}

// TestEvent: an event opens by key and by mouse, and leads to what it is about.
func TestEvent(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	newest := s.events(t, 1)[0]
	p := s.page(t, "#/events")
	p.arrives("events")
	p.feed(newest)
	p.focus("main .event button")
	p.press(kb.Enter)
	p.sees("main .details", newest.ObjectID)
	p.sees("main .details", at(newest.TimestampNano))
	p.press(kb.Escape)
	p.until(`!t.one("main .details")`)
	p.click("main .event .event-amounts", "")
	p.click("main .details a", "Only about it")
	p.until(`t.all("main .event").length > 0 && t.all("main .event").every((e) => e.textContent.includes(args[0]))`, newest.ObjectID)
}
