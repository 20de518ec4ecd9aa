package browser

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
)

// panels are all of them, in the order of their keys.
var panels = []struct{ id, title string }{
	{"overview", "Overview"},
	{"queues", "Queues"},
	{"nodes", "Nodes"},
	{"applications", "Applications"},
	{"preemption", "Preemption"},
	{"events", "Events"},
	{"whatif", "What if"},
	{"users", "Users"},
	{"doctor", "Doctor"},
}

// arrives waits until a panel is shown and has been read.
func (p *page) arrives(id string) {
	p.t.Helper()
	p.until(`document.querySelector("main").dataset.panel === args[0]`, id)
	p.fresh()
}

// back is the button of the browser.
var back = chromedp.NavigateBack()

// fresh waits until what is shown has just been read, and nothing is loading.
func (p *page) fresh() {
	p.t.Helper()
	p.until(`document.getElementById("freshness").dataset.state === "live" && !t.one("main .state-loading")`)
}

// TestPanels goes through all panels by mouse and by key.
func TestPanels(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "")
	p.arrives("overview")
	for i, panel := range panels {
		p.click("#nav a", panel.title)
		p.arrives(panel.id)
		p.until(`location.hash === "#/" + args[0] && document.title.startsWith(args[1])`, panel.id, panel.title)
		assert.Equal(t, evaluate[int](p, `return t.all("#nav [aria-current=page]").length`), 1)
		assert.Equal(t, p.text("#nav [aria-current=page]"), panel.title+string(rune('1'+i)))
	}
	for i, panel := range slices.Backward(panels) {
		p.press(string(rune('1' + i)))
		p.arrives(panel.id)
	}
}

// TestBack: the buttons of the browser go where one was.
func TestBack(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/queues")
	p.arrives("queues")
	p.press("3")
	p.arrives("nodes")
	p.press("6")
	p.arrives("events")
	p.do(back)
	p.arrives("nodes")
	p.do(back)
	p.arrives("queues")
	p.do(chromedp.NavigateForward())
	p.arrives("nodes")
}

// TestUnknownPlace: an address that leads nowhere leads to the overview.
func TestUnknownPlace(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/nowhere/%/x?y=%zz")
	p.arrives("overview")
}

// TestHelp opens by key and by mouse, and closes by key.
func TestHelp(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "")
	p.arrives("overview")
	for _, open := range []func(){func() { p.press("?") }, func() { p.click("#help-open", "") }} {
		open()
		p.until(`t.one("dialog#help[open]") && document.querySelector("#help").contains(document.activeElement)`)
		for _, panel := range panels {
			p.sees("#help", panel.title)
		}
		p.press("3") // belongs to the dialog
		p.press(kb.Escape)
		p.until(`!document.querySelector("dialog[open]")`)
		p.arrives("overview")
	}
}

// TestTheme: the key goes round; what was chosen lasts; otherwise it is that of the
// system.
func TestTheme(t *testing.T) {
	t.Parallel()
	site := teams.site(t)
	p := site.open(t, "", look{light: true})
	p.arrives("overview")
	background := func() string {
		return evaluate[string](p, `return getComputedStyle(document.documentElement).backgroundColor`)
	}
	light := background()
	p.press("t")
	p.until(`document.documentElement.dataset.theme === "dark"`)
	dark := background()
	assert.Assert(t, dark != light, dark)
	p.press("t")
	p.until(`document.documentElement.dataset.theme === "light"`)
	assert.Equal(t, background(), light)
	p.click("#theme", "")
	p.until(`!document.documentElement.dataset.theme`)
	p.press("t")
	p.until(`document.documentElement.dataset.theme === "dark"`)
	p.do(chromedp.Reload())
	p.arrives("overview")
	assert.Equal(t, background(), dark)
	assert.Equal(t, evaluate[string](p, `return localStorage.getItem("narwhal.theme")`), "dark")
	p = site.open(t, "", look{})
	p.arrives("overview")
	assert.Equal(t, background(), dark, "as the system")
}

// TestSearchKey: the slash leads to the search field, where keys are letters.
func TestSearchKey(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/nodes")
	p.arrives("nodes")
	p.press("/")
	p.until(`document.activeElement.type === "search"`)
	p.press("1", "t", "?")
	p.until(`document.activeElement.value === "1t?"`)
	p.arrives("nodes")
	p.press(kb.Escape)
	p.until(`document.activeElement.type !== "search"`)
	p.press("2")
	p.arrives("queues")
}

// TestGone: while the server does not answer, the page says so and keeps what it
// has; when it is back, the page is.
func TestGone(t *testing.T) {
	t.Parallel()
	site := teams.on(t).serve(t)
	p := site.open(t, "#/queues", look{})
	p.arrives("queues")
	before := evaluate[int](p, `return document.querySelectorAll("main *").length`)
	p.allow("request failed", "net::ERR_")
	site.gone.Store(true)
	p.until(`t.one("#notice") && document.getElementById("freshness").dataset.state === "bad"`)
	p.sees("#notice", "No connection")
	assert.Equal(t, evaluate[int](p, `return document.querySelectorAll("main *").length`), before, "what was there is there still")
	site.gone.Store(false)
	p.fresh()
	p.until(`!t.one("#notice")`)
}

// TestGoneFromTheStart: there is a page and no data yet.
func TestGoneFromTheStart(t *testing.T) {
	t.Parallel()
	site := teams.on(t).serve(t)
	site.restGone.Store(true)
	p := site.open(t, "", look{})
	p.allow("request failed", "net::ERR_")
	p.sees("#notice", "No connection")
	site.restGone.Store(false)
	p.arrives("overview")
}

// TestToken: a server with a token gives the page to all clients and data to those with
// the token. The dialog says when it was the wrong one, and does not come again.
func TestToken(t *testing.T) {
	t.Parallel()
	site := teams.on(t).serveWithToken(t, "open-sesame")
	p := site.open(t, "#/nodes", look{})
	p.allow("401 (Unauthorized)")
	p.sees("#token-dialog", "asks for a token")
	p.until(`document.activeElement.id === "token"`)
	p.press("wrong", kb.Enter)
	p.sees("#token-dialog", "not the right one")
	p.until(`document.activeElement.id === "token"`)
	p.press("open-sesame")
	p.click("#token-send", "")
	p.arrives("nodes")
	p.until(`!document.querySelector("dialog[open]")`)
	assert.Equal(t, evaluate[string](p, `return sessionStorage.getItem("narwhal.token")`), "open-sesame")
	p.do(chromedp.Reload())
	p.arrives("nodes")
	p.press("6")
	p.arrives("events")
}

// TestNoToken: without a token the page says what is missing and offers to ask again.
func TestNoToken(t *testing.T) {
	t.Parallel()
	p := teams.on(t).serveWithToken(t, "sesame").open(t, "#/queues", look{})
	p.allow("401 (Unauthorized)", "token is needed")
	p.sees("#token-dialog", "")
	p.press(kb.Escape)
	p.sees("#notice", "A token is needed")
	p.click("#notice button", "")
	p.sees("#token-dialog", "")
	p.press("sesame", kb.Enter)
	p.arrives("queues")
}

// TestPartitions: of several partitions one is chosen, by hand or by the address.
func TestPartitions(t *testing.T) {
	t.Parallel()
	s := teams.on(t).apart()
	other := *s.view.Load()
	other.Partition = "[" + live.ID + "]other"
	other.Nodes = other.Nodes[:7]
	s.other = &other
	site := s.serve(t)
	p := site.open(t, "#/nodes", look{})
	p.arrives("nodes")
	p.sees("main .toolbar", fmt.Sprintf("%d nodes", len(s.view.Load().Nodes)))
	p.focus("#partition")
	p.press(kb.ArrowDown)
	p.sees("main .toolbar", "7 nodes")
	p = site.open(t, "#/nodes?partition=other", look{})
	p.arrives("nodes")
	p.sees("main .toolbar", "7 nodes")
	assert.Equal(t, evaluate[string](p, `return document.querySelector("#partition").value`), "other")
}

// TestRefresh: what changes in the cluster is on the page by itself.
func TestRefresh(t *testing.T) {
	t.Parallel()
	s := teams.on(t).apart()
	site := s.serve(t)
	p := site.open(t, "#/nodes/general-100", look{})
	p.arrives("nodes")
	var node struct{ Schedulable bool }
	site.read(t, "partition/default/node/general-100", &node)
	assert.Assert(t, node.Schedulable)
	p.until(`!/drained/i.test(t.one("main .details").textContent)`)
	s.change(t, "general-100", func(n *api.NodeView) { n.Schedulable = false })
	p.until(`/drained/i.test(t.one("main .details").textContent)`)
}
