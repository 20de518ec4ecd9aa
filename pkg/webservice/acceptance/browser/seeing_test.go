package browser

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// everywhere are all panels of a play.
func everywhere(played *play) (out []scene) {
	for _, at := range []struct{ name, panel, hash string }{
		{"overview", "overview", "#/overview"},
		{"queues", "queues", "#/queues"},
		{"nodes", "nodes", "#/nodes"},
		{"guarantees", "queues", "#/queues?view=guarantees"},
		{"cards", "nodes", "#/nodes?zoom=3"},
		{"queue", "queues", "#/queues/root"},
		{"node", "nodes", "#/nodes/NODE"},
		{"applications", "applications", "#/applications"},
		{"preemption", "preemption", "#/preemption"},
		{"application", "applications", "#/applications/APPLICATION"},
		{"events", "events", "#/events"},
		{"pending", "applications", "#/applications?view=pending"},
		{"users", "users", "#/users"},
		{"whatif", "whatif", "#/whatif?question=QUESTION"},
		{"groups", "users", "#/users?view=groups"},
		{"changes", "changes", "#/changes"},
		{"then", "changes", "#/changes?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z"},
		{"past", "events", "#/events?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z"},
	} {
		c := scene{name: at.name, play: played, panel: at.panel, at: func(t *testing.T, s *site) string { return s.addressed(t, at.hash) }}
		switch at.name {
		case "whatif":
			c.act = seesOutcome
		case "overview", "queue":
			c.act = func(p *page) { p.chart("Placed and preempted") }
		}
		out = append(out, c)
	}
	return out
}

// those are the scenes with some of the names.
func those(all []scene, names ...string) (out []scene) {
	for _, c := range all {
		if slices.Contains(names, c.name) {
			out = append(out, c)
		}
	}
	return out
}

// question asks for pods of every kind that a shim reports.
const question = `{"asks":[{"allocationKey":"try","applicationId":%q,"resource":{"vcore":6000,"memory":25769803776,"nvidia.com/gpu":1,"ephemeral-storage":21474836480,"pods":1},"count":3}]}`

// addressed is an address with the names of things on the stage.
func (s *site) addressed(t *testing.T, hash string) string {
	t.Helper()
	var nodes []struct{ NodeID string }
	s.read(t, "partition/default/nodes?limit=1&fields=nodeID", &nodes)
	var apps []struct{ ApplicationID string }
	s.read(t, "partition/default/applications/active?limit=1&sort=-submissionTime&fields=applicationID", &apps)
	return strings.NewReplacer("NODE", url.PathEscape(nodes[0].NodeID), "APPLICATION", url.PathEscape(apps[0].ApplicationID),
		"QUESTION", escaped(fmt.Sprintf(question, apps[0].ApplicationID))).Replace(hash)
}

// opened are what a click opens, on the stages that have something to open.
var opened = []scene{
	{name: "why", play: k8s, panel: "applications", at: atFirst("why=no+node+has+room")},
	{name: "plan", play: k8s, panel: "preemption", at: atPlan("victims=true&limit=20"), act: seesPlan},
	{name: "event", play: k8s, panel: "events", act: opensEvent},
	{name: "whatif-why", play: k8s, panel: "whatif", at: func(t *testing.T, s *site) string {
		return s.addressed(t, "#/whatif?question=QUESTION")
	}, act: opensWhy},
	{name: "overview", play: k8sEvicting, panel: "overview"},
	{name: "pending", play: k8sEvicting, panel: "applications", at: fixed("#/applications?view=pending")},
	{name: "why", play: k8sEvicting, panel: "applications", at: atNominated},
	{name: "victim", play: k8sEvicting, panel: "applications", at: func(t *testing.T, s *site) string { return s.victim(t).hash() }},
	{name: "event", play: big, panel: "events", act: opensEvent},
	{name: "why", play: limits, panel: "applications", at: atFirst("why=user+limit+exceeded")},
	{name: "overview", play: guarantees, panel: "overview"},
	{name: "guarantees", play: guarantees, panel: "queues", at: fixed("#/queues?view=guarantees")},
	{name: "queue", play: guarantees, panel: "queues", at: fixed("#/queues/root.data")},
}

// atFirst is where the page tells of the first ask of a query.
func atFirst(query string) func(*testing.T, *site) string {
	return func(t *testing.T, s *site) string {
		t.Helper()
		return s.asks(t, query+"&limit=1")[0].hash()
	}
}

// opensEvent opens the first event. Others come meanwhile, so the row may move or be made anew between the press of a mouse and its end.
func opensEvent(p *page) {
	p.until(`t.one("main .details h2") || t.one("main .event .event-words") && (t.one("main .event .event-words").click(), t.one("main .details h2"))`)
}

func opensWhy(p *page) {
	seesOutcome(p)
	p.click("main .table td.name button", "try-1") // there is no other where it is narrow
	p.sees("main .whatif-why", "Quota")
}

// TestSeeing: every panel with the kinds of a Kubernetes shim, those with 60 teams and with limits
// of users where these show more, and what is opened there. Nothing runs out of the page or over
// its neighbour, no table is cut, every control has a name and can be hit, and every text can be read.
func TestSeeing(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	all := slices.Concat(everywhere(k8s),
		those(everywhere(big), "overview", "queues", "guarantees", "queue", "pending"),
		those(everywhere(limits), "overview", "queue", "application"), opened, scenes)
	tour(t, all, look{}, func(p *page, _ scene) { p.looksRight() })
}

// opposite is a look in the other width and the other theme.
var opposite = map[look]look{wide: phoneLight, phoneLight: wide, wideLight: phone, phone: wideLight}

// otherTheme is a look in the other theme.
var otherTheme = map[look]look{wide: wideLight, wideLight: wide, phone: phoneLight, phoneLight: phone}

// looksRight holds what the page shows against the rules, on a desktop and on a telephone, one of
// them dark and the other light: what the rules say of widths does not depend on the theme, nor
// what they say of colours on the width. The next scene begins in the other theme, so that each of
// the four looks comes up in a tour.
func (p *page) looksRight() {
	p.t.Helper()
	axe := axeScript()
	if axe == "" {
		p.t.Log("the accessibility rules of axe were NOT checked: " + axeAbsent)
	}
	for _, how := range []look{p.how, opposite[p.how]} {
		p.becomes(how)
		p.audits("wide", "overlapping", "faint", "cut", "below", "small", "charts")
		p.names()
		if axe != "" {
			p.axe(axe)
		}
	}
	p.dress(otherTheme[p.how])
}

// axe holds the page against the rules of axe-core. The script runs beside the page, which
// allows no other. What texts look like on what is behind them is left to the audit "faint", which
// is as strict and looks in every look: that rule alone takes half the time of axe.
func (p *page) axe(script string) {
	p.t.Helper()
	found := evaluate[[]string](p, `
		if (!globalThis.axe) (0, eval)(args[0]);
		const { violations } = await axe.run(document, { resultTypes: ["violations"], rules: { "color-contrast": { enabled: false } } });
		return violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + v.help + ": " + n.html.slice(0, 160)))`, script)
	for _, wrong := range unique(found) {
		p.t.Errorf("axe: %s", wrong)
	}
}

// axeAbsent is why the rules of axe are not checked.
const axeAbsent = "the npm package axe-core is not installed; NODE_PATH=$(npm root -g) and npm install -g axe-core find it"

// axeScript is the program of the npm package axe-core, from NODE_PATH or where npm puts
// what is installed for all; empty if it is not there.
var axeScript = sync.OnceValue(func() string {
	places := filepath.SplitList(os.Getenv("NODE_PATH"))
	if out, err := exec.Command("npm", "root", "-g").Output(); err == nil {
		places = append(places, strings.TrimSpace(string(out)))
	}
	for _, place := range places {
		if script, err := os.ReadFile(filepath.Join(place, "axe-core", "axe.min.js")); err == nil {
			return string(script)
		}
	}
	return ""
})

// ranking is the rows of the table of guarantees, each cell as text.
func (p *page) ranking() [][]string {
	p.t.Helper()
	return evaluate[[][]string](p, `return t.all("main .table tbody tr").map((row) => [...row.cells].map((c) => c.textContent.trim()))`)
}

// TestGuarantees: queues that have a guarantee are ranked at any level, and the table can be
// picked from and sorted.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	p := k8s.site(t).page(t, "#/queues?view=guarantees")
	p.arrives("queues")
	p.sees("main .table tbody tr", "ml")
	row := p.ranking()[0]
	assert.Equal(t, row[0], "ml") // which is no leaf
	assert.Equal(t, row[1], "over")
	assert.Assert(t, strings.HasPrefix(row[3], "360 % of "), row[3])
	p.click("main .reason", "Under and waiting")
	p.sees("main .table", "No queue is like that")
	p.click("main .reason", "Over")
	p.sees("main .table tbody tr", "ml")

	p = big.site(t).page(t, "#/queues?view=guarantees")
	p.arrives("queues")
	p.sees("main .reason", "60")
	assert.Equal(t, len(p.ranking()), 60)
	p.click("main th .sorts", "Queue")
	p.until(`t.one("main tbody tr td").textContent === "team-0"`)
	p.click("main th .sorts", "Queue")
	p.until(`t.one("main tbody tr td").textContent === "team-9"`)
	assert.Equal(t, evaluate[string](p, `return t.one("main th[aria-sort=descending]").textContent`), "Queue▼")
	p.press("1")
	p.arrives("overview")
	p.sees("main .card", "480 % of vcore")
	_, note := p.tile("Under and waiting")
	assert.Equal(t, note, "60 queues over")
}

// TestKinds: quantities of a Kubernetes shim are bytes, those come first that are guaranteed,
// and others can be chosen.
func TestKinds(t *testing.T) {
	t.Parallel()
	p := k8s.site(t).open(t, "#/queues", look{}) // other kinds are chosen
	p.arrives("queues")
	heads := func() []string {
		return evaluate[[]string](p, `return [...document.querySelectorAll("main .queue-head > div")].map((e) => e.textContent)`)
	}
	assert.DeepEqual(t, heads(), []string{"Queue", "vcore", "memory", "gpu", "Running", "Pending"})
	p.click("main .chooser summary", "Kinds")
	p.click("main .chooser label", "ephemeral-storage")
	p.until(`document.querySelectorAll("main .queue-head > div").length === 4`)
	assert.DeepEqual(t, heads(), []string{"Queue", "ephemeral-storage", "Running", "Pending"})
	p.sees("main .queue-text", "504 GiB")
	p.press("4")
	p.arrives("applications")
	p.sees("main td", "ephemeral-storage 120 GiB")
	p.press("1")
	p.arrives("overview")
	p.sees("main .gauge", "ephemeral-storage504 GiB of 1.0 TiB")
	p.sees("main .gauge", "hugepages-2Mi0 B of 48.0 GiB")
	assert.DeepEqual(t, evaluate[[]string](p, `
		const format = await import("./js/format.js");
		format.know(["vcore", "nvidia.com/gpu", "amd.com/gpu", "example.com/fpga"]);
		return [...format.kinds({ pods: 1, "example.com/fpga": 1, "amd.com/gpu": 1, vcore: 1 }), ...["amd.com/gpu", "nvidia.com/gpu", "example.com/fpga"].map(format.kindName)]`),
		[]string{"vcore", "amd.com/gpu", "example.com/fpga", "pods", "amd.com/gpu", "nvidia.com/gpu", "fpga"})
}
