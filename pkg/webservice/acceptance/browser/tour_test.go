package browser

import (
	"cmp"
	"testing"
)

// tour shows scenes, those of a play one after another in one page: to load the page takes most
// of the time of a look. Each scene is a test of its own. Without a look it is looked at as the
// page is by then.
func tour(t *testing.T, scenes []scene, how look, see func(p *page, c scene)) {
	t.Helper()
	var plays []*play
	of := map[*play][]scene{}
	for _, c := range scenes {
		played := c.played()
		if of[played] == nil {
			plays = append(plays, played)
		}
		of[played] = append(of[played], c)
	}
	for _, played := range plays {
		t.Run(played.example, func(t *testing.T) {
			t.Parallel()
			played.site(t).tour(t, of[played], how, see)
		})
	}
}

// tour shows scenes one after another in one page.
func (s *site) tour(t *testing.T, scenes []scene, how look, see func(p *page, c scene)) {
	t.Helper()
	p := s.page(t, "#/"+scenes[0].panel)
	for _, c := range scenes {
		p.run(c.name, func(t *testing.T) {
			if at := cmp.Or(c.how, how); at != (look{}) {
				p.becomes(at)
			}
			p.leaves(c.panel)
			p.goes(c.address(t, s))
			p.arrives(c.panel)
			if c.act != nil {
				c.act(p)
			}
			see(p, c)
		})
	}
}

// run is a part of the test of a page, which fails with whatever the browser complains of in it.
func (p *page) run(name string, part func(t *testing.T)) {
	p.t.Helper()
	whole := p.t
	whole.Run(name, func(t *testing.T) {
		p.t = t
		defer func() { p.t = whole }()
		part(t)
		p.complained()
	})
}

// leaves goes to another panel than this one: what is shown next has then been read anew.
func (p *page) leaves(panel string) {
	p.t.Helper()
	if evaluate[string](p, `return document.querySelector("main").dataset.panel`) != panel {
		return
	}
	other := "whatif" // asks for nothing
	if panel == other {
		other = "overview"
	}
	p.goes("#/" + other)
	p.arrives(other)
}
