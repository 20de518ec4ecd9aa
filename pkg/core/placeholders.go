package core

import (
	"iter"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// placeholders are those of a task group that want the same amounts, run and may be replaced.
//
//	first = the first in order of those on each node
type placeholders struct {
	amounts resources.Amounts
	on      map[*node]*askSet
	first   askSet
}

func (p *placeholders) has(r *request) bool {
	on := p.on[r.node]
	return on != nil && on.has(r)
}

func (p *placeholders) add(r *request) {
	on := p.on[r.node]
	if on == nil {
		on = &askSet{}
		p.on[r.node] = on
	} else {
		p.first.remove(on.head())
	}
	on.add(r)
	p.first.add(on.head())
}

// remove takes a placeholder out that is listed, and reports whether none is left.
func (p *placeholders) remove(r *request) (empty bool) {
	on := p.on[r.node]
	p.first.remove(on.head())
	if on.remove(r) {
		delete(p.on, r.node)
	} else {
		p.first.add(on.head())
	}
	return len(p.on) == 0
}

// A placeholderSearch is how far the asks of a class were compared with the placeholders of their
// task group. It goes on in the next batch.
type placeholderSearch struct {
	class   *class
	first   *request          // that they fit in; nil if none was found so far
	last    *request          // that was looked at; nil if none was
	amounts resources.Amounts // of the last one
}

// searchFor is the search for an ask: that of its class, or a new one.
func (g *taskGroup) searchFor(kinds *resources.Kinds, r *request) *placeholderSearch {
	s := &g.search
	if s.class == r.class && s.first != nil {
		if at, found := g.sizeOf(kinds, s.first.Amounts); !found || !g.sizes[at].has(s.first) {
			*s = placeholderSearch{}
		}
	}
	if s.class != r.class {
		*s = placeholderSearch{class: r.class}
	}
	return s
}

// sizesLeft are those that a search has not finished.
func (g *taskGroup) sizesLeft(kinds *resources.Kinds, s *placeholderSearch) []*placeholders {
	if s.last == nil {
		return g.sizes
	}
	at, _ := g.sizeOf(kinds, s.amounts)
	return g.sizes[at:]
}

// rest are the first placeholders of the nodes that a search has not looked at.
func (p *placeholders) rest(kinds *resources.Kinds, s *placeholderSearch) iter.Seq[*request] {
	if s.last == nil || kinds.Compare(p.amounts, s.amounts) != 0 {
		return p.first.all
	}
	return p.first.after(s.last)
}
