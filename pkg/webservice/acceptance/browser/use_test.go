package browser

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// targetMin is how many pixels a control has at least each way.
const targetMin = 24

// audit asks testdata/audit.js what is wrong.
func (p *page) audit(what string, args ...any) {
	p.t.Helper()
	times := map[string]int{}
	for _, wrong := range evaluate[[]string](p, "return t.audit."+what+"(...args)", args...) {
		times[wrong]++
	}
	for _, wrong := range slices.Sorted(maps.Keys(times)) {
		p.t.Errorf("%s: %s (%d times)", what, wrong, times[wrong])
	}
}

// TestEverybody: every scene fits on every screen, from a telephone to a very large
// one, without scrolling sideways; every control has a name and can be hit, and in both
// themes every text can be read.
func TestEverybody(t *testing.T) {
	t.Parallel()
	tour(t, scenes, phone, func(p *page, _ scene) {
		p.audit("wide")
		p.audit("small", targetMin)
		p.becomes(look{width: 2560, height: 1400})
		p.audit("wide")
		p.becomes(look{})
		p.audit("wide")
		p.audit("small", targetMin)
		p.audit("faint")
		p.names()
		p.becomes(look{light: true})
		p.audit("faint")
	})
}

// TestTokens: text in any of its colours can be read on any surface.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, how := range []look{{}, {light: true}} {
		p := scenes[0].open(t, how)
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
	t.Parallel()
	for _, panel := range panels {
		t.Run(panel.id, func(t *testing.T) {
			t.Parallel()
			address := "#/" + panel.id
			if panel.id == "events" {
				address += "?text=a100-03" // the whole feed has thousands of stops
			}
			p := teams.on(t).serve(t).open(t, address, look{})
			p.arrives(panel.id)
			type focused struct {
				End   bool
				Told  string
				Wrong []string
			}
			var way []string
			for range 400 {
				p.press(kb.Tab)
				at := evaluate[focused](p, `return t.audit.focused()`)
				for _, wrong := range at.Wrong {
					t.Error(wrong)
				}
				if at.End {
					break
				}
				way = append(way, at.Told)
			}
			assert.Assert(t, len(way) > len(panels) && len(way) < 400, "%d stops", len(way))
			assert.Assert(t, strings.Contains(way[0], "Skip"), way[0])
			t.Log(fmt.Sprint(len(way), " stops"))
		})
	}
}

// TestFocusStays: what has the focus keeps it while rows before it go and rows change
// places, and is the element that it was.
func TestFocusStays(t *testing.T) {
	t.Parallel()
	p := scenes[0].open(t, look{})
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
	p := scenes[0].open(t, look{})
	p.press(kb.Tab, kb.Enter)
	p.until(`document.activeElement === document.querySelector("main")`)
	assert.Equal(t, evaluate[string](p, `return location.hash`), "#/overview")
}
