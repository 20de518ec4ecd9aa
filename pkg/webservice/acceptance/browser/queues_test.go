package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// What tests read of a queue.
type queue struct {
	Queuename                              string
	IsLeaf                                 bool
	RunningApps                            int
	Children                               []queue
	AllocatedResource, GuaranteedResource  map[string]int64
	MaxResource, PendingResource, Headroom map[string]int64
}

// all are the queue and those below, parents first.
func (q queue) all() []queue {
	out := []queue{q}
	for _, child := range q.Children {
		out = append(out, child.all()...)
	}
	return out
}

func (s *site) queues(t *testing.T) []queue {
	t.Helper()
	var root queue
	s.read(t, "partition/default/queues", &root)
	return root.all()
}

// focus gives an element the focus, which the keys go to from then on.
func (p *page) focus(selector string) {
	p.t.Helper()
	p.sees(selector, "")
	evaluate[any](p, `t.one(args[0]).focus(); return true`, selector)
}

// tree is the names of the queues in sight, in order.
func (p *page) tree() []string {
	p.t.Helper()
	return evaluate[[]string](p, `return t.all("main [role=treeitem]").map((e) => e.querySelector(".queue-label").title)`)
}

// current is the queue that the cursor is on, as readers of screens are told.
func (p *page) current() string {
	p.t.Helper()
	return evaluate[string](p, `
		const id = document.querySelector("main [role=tree]").getAttribute("aria-activedescendant");
		return id ? document.getElementById(id).querySelector(".queue-label").title : ""`)
}

// TestQueues: the tree has all queues, with what REST says of each.
func TestQueues(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	all := s.queues(t)
	p := s.page(t, "#/queues")
	p.arrives("queues")
	p.sees("main .toolbar", fmt.Sprintf("%d queues", len(all)))
	assert.Equal(t, len(p.tree()), len(all))
	for _, q := range all {
		said := evaluate[string](p, `return t.all("main [role=treeitem]").filter((e) => e.querySelector(".queue-label").title === args[0]).flatMap((e) => [...e.querySelectorAll(".meter")]).map((e) => e.getAttribute("aria-label")).join("; ")`, q.Queuename)
		for kind, used := range q.AllocatedResource {
			if kind == "vcore" || kind == "memory" || kind == "gpu" {
				assert.Assert(t, strings.Contains(said, kind+": "+amount(kind, used)+" used"), said)
			}
		}
		for kind, guaranteed := range q.GuaranteedResource {
			assert.Assert(t, strings.Contains(said, amount(kind, guaranteed)+" guaranteed"), said)
		}
	}
	p.press("/", "reports")
	p.until(`t.all("main [role=treeitem]").length === 3`)
	assert.DeepEqual(t, p.tree(), []string{"root", "root.data", "root.data.reports"})
}

// TestQueueKeys: the tree is walked with the keys of trees.
func TestQueueKeys(t *testing.T) {
	t.Parallel()
	p := teams.site(t).open(t, "#/queues", look{}) // rows of the tree are closed
	p.arrives("queues")
	all := p.tree()
	p.focus("main [role=tree]")
	at := func(want string) {
		t.Helper()
		p.until(`document.querySelector("main [role=tree]").getAttribute("aria-activedescendant")`)
		assert.Equal(t, p.current(), want)
	}
	p.press(kb.Home)
	at("root")
	p.press(kb.ArrowLeft)
	assert.DeepEqual(t, p.tree(), []string{"root"})
	p.press(kb.ArrowRight)
	assert.DeepEqual(t, p.tree(), all)
	p.press(kb.ArrowRight)
	at("root.data")
	p.press(kb.ArrowLeft)
	assert.Assert(t, !slices.Contains(p.tree(), "root.data.reports"))
	p.press(kb.ArrowDown)
	at("root.platform")
	p.press(kb.ArrowUp, kb.ArrowRight, kb.ArrowDown, kb.ArrowDown, kb.ArrowDown)
	at("root.data.reports")
	p.press(kb.ArrowLeft)
	at("root.data")
	p.press(kb.End)
	at("root.system")
	p.press(kb.Enter)
	p.until(`location.hash === "#/queues/root.system"`)
	p.sees("main .details h2", "root.system")
	p.press(kb.Escape)
	p.until(`location.hash === "#/queues" && !t.one("main .details")`)
	p.until(`document.activeElement.getAttribute("role") === "tree"`)
}

// TestQueue: a queue in detail, with the limits on the way to the root and what is in it.
func TestQueue(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	all := s.queues(t)
	i := slices.IndexFunc(all, func(q queue) bool { return q.Queuename == "root.data.reports" })
	p := s.page(t, "#/queues")
	p.arrives("queues")
	p.click("main [role=treeitem]", "reports")
	p.sees("main .details h2", "root.data.reports")
	for kind, used := range all[i].AllocatedResource {
		if kind == "vcore" || kind == "memory" {
			p.sees("main .details .gauge", "used "+amount(kind, used))
			p.sees("main .details .gauge", "left "+amount(kind, all[i].Headroom[kind]))
			p.sees("main .details .gauge", "pending "+amount(kind, all[i].PendingResource[kind]))
		}
	}
	p.sees("main .details", fmt.Sprintf("%d of %d run", all[i].RunningApps, all[i].RunningApps))
	p.click("main .details a", "Applications")
	p.arrives("applications")
	total := s.read(t, "partition/default/applications/active?limit=1&queue=root.data.reports", &[]application{})
	p.sees("main .pager", fmt.Sprintf("%d applications", total))
	p.do(back)
	p.arrives("queues")
	p.click("main .details a", "Pending asks")
	waits := s.read(t, "partition/default/asks?limit=1&queue=root.data.reports", &[]pod{})
	p.sees("main .pager", "of "+count(waits)+" asks")
}

// TestUnknownQueue: a link to a queue that was removed says so.
func TestUnknownQueue(t *testing.T) {
	t.Parallel()
	p := teams.site(t).page(t, "#/queues/root.gone")
	p.arrives("queues")
	p.sees("main .details .state-empty", "There is no such queue")
}
