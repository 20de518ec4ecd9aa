package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// What tests read of a node.
type node struct {
	NodeID                          string
	Capacity, Allocated, Occupied   map[string]int64
	Available, DaemonSets           map[string]int64
	Schedulable                     bool
	AllocationCount                 int
	Allocations, ForeignAllocations []pod
	Attributes                      map[string]string
}

func (s *site) node(t *testing.T, id string) (n node) {
	t.Helper()
	s.read(t, "partition/default/node/"+id, &n)
	return n
}

// atCursor is what readers of screens are told of the node at the cursor of the map.
func (p *page) atCursor() string {
	p.t.Helper()
	p.until(`document.querySelector("main [role=listbox]").getAttribute("aria-activedescendant")`)
	return evaluate[string](p, `return document.getElementById(document.querySelector("main [role=listbox]").getAttribute("aria-activedescendant")).textContent`)
}

// showsNode waits for the details of a node, and compares them with REST.
func (s *site) showsNode(p *page, id string) {
	p.t.Helper()
	p.sees("main .details h2", id)
	p.sees("main .details", "Allocations (")
	n := s.node(p.t, id)
	for kind, whole := range n.Capacity {
		gauge := "main .details .gauge[data-key=" + kind + "]"
		p.sees(gauge, "capacity "+amount(kind, whole))
		p.sees(gauge, "allocated "+amount(kind, n.Allocated[kind]))
		p.sees(gauge, "available "+amount(kind, n.Available[kind]))
		if n.DaemonSets[kind] > 0 {
			p.sees(gauge, "daemonsets "+amount(kind, n.DaemonSets[kind]))
		}
		if n.Occupied[kind] > 0 {
			p.sees(gauge, "occupied by others "+amount(kind, n.Occupied[kind]))
		}
	}
	p.sees("main .details", fmt.Sprintf("Allocations (%d)", len(n.Allocations)))
	p.sees("main .details", fmt.Sprintf("Of other schedulers (%d)", len(n.ForeignAllocations)))
	p.sees("main .details", n.Allocations[0].AllocationKey)
	p.sees("main .details", n.ForeignAllocations[0].AllocationKey)
	p.sees("main .details", map[bool]string{true: "schedulable", false: "drained"}[n.Schedulable])
}

// TestNodeKeys: a node is found on the map with keys alone.
func TestNodeKeys(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "#/nodes?group=none")
	p.arrives("nodes")
	p.sees("main .toolbar", fmt.Sprintf("%d nodes", len(s.stage.view.Load().Nodes)))
	p.focus("main [role=listbox]")
	p.press(kb.Home)
	first := p.atCursor()
	id, _, _ := strings.Cut(first, ";")
	n := s.node(t, id)
	assert.Assert(t, strings.Contains(first, fmt.Sprintf("; %d allocation", n.AllocationCount)), first)
	p.press(kb.ArrowRight, kb.ArrowRight)
	third := p.atCursor()
	assert.Assert(t, third != first)
	p.press(kb.ArrowDown)
	below := p.atCursor()
	assert.Assert(t, below != third)
	p.press(kb.ArrowUp)
	assert.Equal(t, p.atCursor(), third)
	p.press(kb.ArrowLeft, kb.ArrowLeft)
	assert.Equal(t, p.atCursor(), first)
	p.press(kb.End)
	last, _, _ := strings.Cut(p.atCursor(), ";")
	p.press(kb.Enter)
	p.until(`location.hash === args[0]`, "#/nodes/"+last+"?group=none")
	s.showsNode(p, last)
	p.press(kb.Escape)
	p.until(`location.hash === "#/nodes?group=none" && !t.one("main .details")`)
	p.until(`document.activeElement.getAttribute("role") === "listbox"`)
}

// TestNodeMouse: a node is chosen on the map with the mouse, which is told first what
// it is over.
func TestNodeMouse(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "#/nodes?group=none")
	p.arrives("nodes")
	p.sees("main canvas", "")
	at := evaluate[[]float64](p, `const box = t.one("main canvas").getBoundingClientRect(); return [box.x + 12, box.y + 12]`)
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseMoved", X: at[0], Y: at[1]})
		return err
	}))
	p.sees("main .tip", "used")
	id := p.text("main .tip strong")
	p.do(chromedp.MouseClickXY(at[0], at[1]))
	p.until(`location.hash === args[0]`, "#/nodes/"+id+"?group=none")
	s.showsNode(p, id)
	assert.Assert(t, strings.HasPrefix(p.atCursor(), id+";"))
	p.click("main .details a", s.node(t, id).Allocations[0].AllocationKey)
	p.arrives("applications")
	p.do(back)
	p.arrives("nodes")
	p.sees("main .details h2", id)
}

// TestNodeFilters: nodes are picked by name, by attribute and by state, and the map is
// of as many.
func TestNodeFilters(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	all := len(s.stage.view.Load().Nodes)
	drained := s.read(t, "partition/default/nodes?schedulable=false&limit=1", &[]node{})
	evicting := s.read(t, "partition/default/nodes?evicting=true&limit=1", &[]node{})
	p := s.page(t, "#/nodes?state=drained")
	p.arrives("nodes")
	p.sees("main .toolbar", fmt.Sprintf("%d of %d nodes", drained, all))
	p.focus("main [role=listbox]")
	p.press(kb.Home)
	assert.Assert(t, strings.Contains(p.atCursor(), "drained"))
	assert.Equal(t, evaluate[string](p, `return document.querySelector("main [role=option]").getAttribute("aria-setsize")`), fmt.Sprint(drained))
	p.press("1")
	p.arrives("overview")
	p.click(`main .card a[href*="state=evicting"]`, count(evicting))
	p.arrives("nodes")
	p.sees("main .toolbar", fmt.Sprintf("%d of %d nodes", evicting, all))

	p.press("1")
	p.arrives("overview")
	p.press("3")
	p.arrives("nodes")
	p.press("/", "zone=a")
	var list []node
	s.read(t, "partition/default/nodes?fields=nodeID,attributes", &list)
	inZone := 0
	for _, n := range list {
		if n.Attributes["zone"] == "a" {
			inZone++
		}
	}
	assert.Assert(t, inZone > 0 && inZone < all)
	p.sees("main .toolbar", fmt.Sprintf("%d of %d nodes", inZone, all))
	p.press(kb.Escape, "/", "nothing like this")
	p.sees("main .state-empty", "No node is like that")
	p.click("main .state-empty a", "Show all")
	p.sees("main .toolbar", fmt.Sprintf("%d nodes", all))
}

// TestNodeGroups: groups and sizes of cells are in the address, and the map says how
// many there are in each way.
func TestNodeGroups(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/nodes")
	p.arrives("nodes")
	options := evaluate[[]string](p, `return [...t.one("main select[name=group]").options].map((o) => o.value)`)
	for _, value := range options {
		evaluate[any](p, `const s = t.one("main select[name=group]"); s.value = args[0]; s.dispatchEvent(new Event("change", { bubbles: true })); return true`, value)
		p.until(`new URLSearchParams(location.hash.split("?")[1] ?? "").get("group") === (args[0] || null)`, value)
		p.focus("main [role=listbox]")
		p.press(kb.Home)
		p.atCursor()
	}
	for _, size := range []string{"Larger cells", "Smaller cells"} {
		before := evaluate[string](p, `return location.hash`)
		p.click("main [aria-label='"+size+"']", "")
		p.until(`location.hash !== args[0]`, before)
		p.arrives("nodes")
	}
}
