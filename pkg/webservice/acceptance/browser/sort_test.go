package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// A sortedHead is the head of a column, and what a first press and a second one ask REST for.
type sortedHead struct{ head, first, second string }

// presses presses each head three times: the list is as names says for what is sorted by then,
// the other way round, and as it was. A name is all that the first cells of a row say.
func (p *page) presses(heads []sortedHead, plain string, names func(sort string) []string) {
	p.t.Helper()
	lists := func(sort string) {
		p.t.Helper()
		p.until(`(() => {
			const rows = t.all("main th .sorts")[0].closest("table").tBodies[0].rows;
			return rows.length === args[0].length && [...rows].every((row, i) => args[0][i].split(" ").every((word) => row.textContent.includes(word)) && row.dataset.key.includes(args[0][i].split(" ").at(-1)));
		})()`, names(sort))
	}
	lists(plain)
	for _, c := range heads {
		p.click("main th .sorts", c.head)
		lists(c.first)
		p.until(`t.one("main th[aria-sort=ascending], main th[aria-sort=descending]", args[0])`, c.head)
		p.click("main th .sorts", c.head)
		lists(c.second)
		p.click("main th .sorts", c.head)
		lists(plain)
		p.until(`!location.hash.includes("sort=")`)
	}
	all := evaluate[[]string](p, `return t.all("main th .sorts").map((e) => e.firstChild.textContent)`)
	for _, head := range all {
		known := slices.ContainsFunc(heads, func(c sortedHead) bool { return c.head == head })
		assert.Assert(p.t, known || head == "Waits", "%s sorts, and is not tested", head)
	}
}

// sorting is how REST is asked for an order.
func sorting(by string) string {
	if by == "" {
		return ""
	}
	return "&sort=" + by
}

// TestSortApplications: the heads sort the list of applications.
func TestSortApplications(t *testing.T) {
	t.Parallel()
	s := limits.site(t)
	p := s.page(t, "#/applications")
	p.arrives("applications")
	p.presses([]sortedHead{
		{"Application", "applicationID", "-applicationID"},
		{"State", "applicationState", "-applicationState"},
		{"Queue", "queueName", "-queueName"},
		{"User", "user", "-user"},
		{"Uses", "-heldResource.vcore", "heldResource.vcore"},
		{"Waits for", "-pendingResource.vcore", "pendingResource.vcore"},
		{"Age", "submissionTime", "-submissionTime"},
	}, "", func(sort string) (out []string) {
		var list []application
		s.read(t, "partition/default/applications/active?limit=50"+sorting(sort), &list)
		for _, one := range list {
			out = append(out, one.ApplicationID)
		}
		return out
	})
}

// TestSortAsks: the heads sort what waits. Without one the longest wait is first, and a press on
// its head turns that round.
func TestSortAsks(t *testing.T) {
	t.Parallel()
	s := guarantees.site(t)
	p := s.page(t, "#/applications?view=pending")
	p.arrives("applications")
	asks := func(sort string) (out []string) {
		for _, one := range s.asks(t, "limit=50&sort="+sort) {
			out = append(out, one.AllocationKey)
		}
		return out
	}
	const longest = "requestTime"
	p.sees("main th[aria-sort=ascending]", "Waits")
	p.click("main th .sorts", "Waits")
	p.until(`t.one("main th[aria-sort=descending]", "Waits") && t.one("main tbody td").textContent === args[0]`, asks("-" + longest)[0])
	p.click("main th .sorts", "Waits")
	p.until(`t.one("main th[aria-sort=ascending]", "Waits") && !location.hash.includes("sort=")`)
	p.presses([]sortedHead{
		{"Ask", "allocationKey", "-allocationKey"},
		{"Why it waits", "why", "-why"},
		{"Priority", "-priority", "priority"},
		{"Application", "applicationId", "-applicationId"},
		{"Queue", "queueName", "-queueName"},
		{"User", "user", "-user"},
	}, longest, asks)
}

// TestSortPlans: the heads sort the log of preemption; without one the latest is first.
func TestSortPlans(t *testing.T) {
	t.Parallel()
	s := fairness.site(t)
	p := s.page(t, "#/preemption")
	p.arrives("preemption")
	p.presses([]sortedHead{
		{"When", "time", "-time"},
		{"Trigger", "trigger", "-trigger"},
		{"Victims", "-victims", "victims"},
		{"Node", "nodeId", "-nodeId"},
		{"Outcome", "outcome", "-outcome"},
	}, "", func(sort string) (out []string) {
		var list []plan
		s.read(t, "partition/default/preemptions?limit=50"+sorting(sort), &list)
		for _, one := range list {
			out = append(out, at(one.Time)+" "+one.of())
		}
		return out
	})
}

// TestSortRanking: the heads sort the queues by their guarantee, each by its own figure.
func TestSortRanking(t *testing.T) {
	t.Parallel()
	p := guarantees.site(t).page(t, "#/queues?view=guarantees")
	p.arrives("queues")
	// Used: 0, 4, 40, 8, 4 of 16, 10, 10, 5, 8, and 10, 8, 0, 4, 0 wait.
	p.presses([]sortedHead{
		{"Queue", "ads billing data media search", "search media data billing ads"},
		{"Guarantee", "ads data search media billing", "billing media search data ads"},
		{"Part", "ads data billing media search", "search media billing data ads"},
		{"Used", "search media data billing ads", "ads data billing media search"},
		{"Guaranteed", "ads data search billing media", "media billing data search ads"},
		{"Max", "ads media billing search data", "data search ads media billing"},
		{"Pending", "ads data media search billing", "search billing media data ads"},
	}, "ads data search media billing", strings.Fields)
}

// TestSortNodes: the map of nodes is in the order that is chosen.
func TestSortNodes(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	var list []node
	s.read(t, "partition/default/nodes", &list)
	use := func(n node) float64 {
		return float64(n.Allocated["vcore"]+n.Occupied["vcore"]) / float64(n.Capacity["vcore"])
	}
	p := s.page(t, "#/nodes?group=none&kind=vcore")
	p.arrives("nodes")
	for _, c := range []struct {
		order  string
		before func(a, b node) bool // a stands before b
	}{
		{"fullest", func(a, b node) bool { return use(a) > use(b) }},
		{"emptiest", func(a, b node) bool { return use(a) < use(b) }},
		{"count", func(a, b node) bool { return a.AllocationCount > b.AllocationCount }},
	} {
		p.choose("sort", c.order)
		p.until(`location.hash.includes("sort=" + args[0])`, c.order)
		p.focus("main [role=listbox]")
		p.press(kb.Home)
		first, _, _ := strings.Cut(p.atCursor(), ";")
		p.press(kb.End)
		last, _, _ := strings.Cut(p.atCursor(), ";")
		ends := [2]node{s.node(t, first), s.node(t, last)}
		assert.Assert(t, first != last)
		for _, n := range list {
			assert.Assert(t, !c.before(n, ends[0]) && !c.before(ends[1], n), "%s: %s is between %s and %s", c.order, n.NodeID, first, last)
		}
	}
}
