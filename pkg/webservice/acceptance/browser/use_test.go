package browser

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// audits asks testdata/audit.js what breaks some of its rules.
func (p *page) audits(rules ...string) {
	p.t.Helper()
	found := evaluate[map[string][]string](p, `return Object.fromEntries(args[0].map((rule) => [rule, t.audit[rule]()]))`, rules)
	for _, rule := range rules {
		p.wrongs(rule, found[rule])
	}
}

// audit asks it about one, with arguments.
func (p *page) audit(rule string, args ...any) {
	p.t.Helper()
	p.wrongs(rule, evaluate[[]string](p, "return t.audit."+rule+"(...args)", args...))
}

// wrongs fails the test with what is wrong by a rule.
func (p *page) wrongs(rule string, found []string) {
	p.t.Helper()
	times := map[string]int{}
	for _, wrong := range found {
		times[wrong]++
	}
	for _, wrong := range slices.Sorted(maps.Keys(times)) {
		p.t.Errorf("%s: %s (%d times)", rule, wrong, times[wrong])
	}
}

// TestLargeScreen: no panel scrolls sideways on a very large screen.
func TestLargeScreen(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/overview")
	p.becomes(look{width: 2560, height: 1400})
	for _, panel := range panels {
		p.leaves(panel.id)
		p.goes("#/" + panel.id)
		p.arrives(panel.id)
		p.audit("wide")
	}
}

// TestTokens: text in any of its colours can be read on any surface.
func TestTokens(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/overview")
	p.arrives("overview")
	for _, how := range []look{{}, {light: true}} {
		p.becomes(how)
		p.audit("tokens",
			[]string{"--text", "--quiet", "--accent", "--good", "--warn", "--bad", "--info"},
			[]string{"--bg", "--surface", "--raised", "--hover"})
		p.audit("tokens", []string{"--on-accent"}, []string{"--accent"})
	}
}

// named are the roles of which each has to have a name.
var named = []string{
	"button", "link", "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "slider", "spinbutton", "tab", "option",
	"treeitem", "tree", "grid", "treegrid", "dialog", "img", "image", "region", "navigation", "search", "application", "menuitem", "progressbar", "meter", "Canvas", "heading",
}

// names asks the browser for the names of everything, as readers of screens do.
func (p *page) names() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	tree, err := chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	assert.NilError(p.t, err)
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `" `)
	}
	found := 0
	for _, node := range tree.Nodes {
		if node.Ignored || !slices.Contains(named, text(node.Role)) {
			continue
		}
		found++
		if text(node.Name) == "" {
			p.t.Errorf("a %s has no name (element %d)", text(node.Role), node.BackendDOMNodeID)
		}
	}
	assert.Assert(p.t, found > 0)
}

// TestTabKey walks through every panel with the tab key alone: the focus goes on in
// the order of the page, can be seen, and comes out at the end.
func TestTabKey(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	p := teams.site(t).page(t, "#/overview")
	for _, panel := range panels {
		p.run(panel.id, func(t *testing.T) {
			address := "#/" + panel.id
			if panel.id == "events" {
				address += "?text=a100-03" // the whole feed has thousands of stops
			}
			p.leaves(panel.id)
			p.goes(address)
			p.arrives(panel.id)
			way := p.tabs()
			assert.Assert(t, len(way) > len(panels), "%d stops", len(way))
			assert.Assert(t, strings.Contains(way[0], "Skip"), way[0])
			t.Logf("%d stops", len(way))
		})
	}
}

// tabs presses the tab key until the focus is where it was, at the first element of the page, and
// returns where it stopped.
func (p *page) tabs() (way []string) {
	p.t.Helper()
	p.press(kb.Tab) // the focus that a script gives is seen only if a key was the last to be used
	evaluate[any](p, `
		t.stops = [];
		t.audit.forget();
		document.getElementById("skip").focus();
		t.stops.push(t.audit.focused());
		document.addEventListener("keyup", t.stopped = (e) => { if (e.key === "Tab") t.stops.push(t.audit.focused()); }, true);
		return true`)
	for len(way) < 400 {
		p.press(strings.Repeat(kb.Tab, 10))
		for _, at := range evaluate[[]struct {
			End   bool
			Told  string
			Wrong []string
		}](p, `return t.stops.splice(0)`) {
			for _, wrong := range at.Wrong {
				p.t.Error(wrong)
			}
			if at.End {
				evaluate[any](p, `document.removeEventListener("keyup", t.stopped, true); return true`)
				return way
			}
			way = append(way, at.Told)
		}
	}
	p.t.Fatalf("the focus does not come out after %d stops", len(way))
	return nil
}

// TestFocusStays: what has the focus keeps it while rows before it go and rows change
// places, and is the element that it was.
func TestFocusStays(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/overview")
	p.arrives("overview")
	assert.Equal(t, evaluate[string](p, `
		const { h, render } = await import("./js/dom.js");
		const list = document.querySelector("main").appendChild(document.createElement("div"));
		const show = (...keys) => render(list, keys.map((key) => h("p", { key }, h("button", null, key))));
		const wrong = [];
		show("a", "b", "c", "d");
		const chosen = list.children[2].firstChild;
		chosen.focus();
		for (const keys of ["bcde", "cdef", "fdce", "xyc", "abcdef", "c"]) {
			show(...keys);
			if (list.textContent !== keys) wrong.push(list.textContent + " in place of " + keys);
			if (document.activeElement !== chosen) wrong.push(keys + ": the focus is lost");
		}
		return wrong.join(", ")`), "")
}

// TestSkip: the first key leads past the bar.
func TestSkip(t *testing.T) {
	t.Parallel()
	p := teams.site(t).open(t, "#/overview", look{})
	p.arrives("overview")
	p.press(kb.Tab, kb.Enter)
	p.until(`document.activeElement === document.querySelector("main")`)
	assert.Equal(t, evaluate[string](p, `return location.hash`), "#/overview")
}
