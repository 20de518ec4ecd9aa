package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// page shows a panel as open does, on a large dark screen, in a tab that a test before may have
// left there: to load the page takes most of the time of a small test. The panel is read anew.
// What the page remembers of a test before is given up, but for what it keeps in memory: rows of
// the tree of queues that are closed, kinds that are chosen, a what-if. A test of
// these opens a page of its own.
func (s *site) page(t *testing.T, hash string) *page {
	t.Helper()
	p := s.rested()
	if p == nil {
		p = newTab(t, s.stage.now, look{})
		p.do(chromedp.Navigate(s.url + "/" + hash))
	} else {
		p.t = t
		p.wakes(hash)
	}
	t.Cleanup(func() { s.takeBack(p) })
	return p
}

// rested is a tab that no test uses, which is the caller's from then on, or nil.
func (s *site) rested() *page {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.resting) - 1
	if last < 0 {
		return nil
	}
	p := s.resting[last]
	s.resting = s.resting[:last]
	return p
}

// takeBack keeps the tab of a test that ends for another one. It is closed if the test failed,
// or had the browser complain.
func (s *site) takeBack(p *page) {
	p.t.Helper()
	p.complained()
	if p.t.Failed() || p.ownState {
		p.close()
		return
	}
	p.becomes(look{})
	evaluate[any](p, `
		localStorage.clear();
		sessionStorage.clear();
		document.querySelector("dialog[open]")?.close();
		document.activeElement.blur();
		t.rest(true);
		return true`)
	p.usedBefore = p.t.Name()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = append(s.resting, p)
}

// wakes shows a panel in a tab that rested, by its address.
func (p *page) wakes(hash string) {
	p.t.Helper()
	evaluate[any](p, `t.rest(false); return true`)
	panel := panelOf(hash)
	p.leaves(panel)
	p.goes(hash)
	p.until(`document.querySelector("main").dataset.panel === args[0]`, panel)
}

// panelOf is the panel that an address leads to.
func panelOf(hash string) string {
	for _, panel := range panels {
		rest, ok := strings.CutPrefix(hash, "#/"+panel.id)
		if ok && (rest == "" || rest[0] == '/' || rest[0] == '?') {
			return panel.id
		}
	}
	return panels[0].id
}
