package core

import (
	"cmp"

	"github.com/google/btree"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// placeholders are those of a task group that run and may be replaced: the largest first, those
// of one size in order.
//
//	first = the first of those on each node
type placeholders struct {
	on    map[*node]*askSet
	first askSet
	count int
}

func bySize(kinds *resources.Kinds) askSet {
	return askSet{btree.NewG(8, func(a, b *request) bool {
		return cmp.Or(kinds.Compare(b.Amounts, a.Amounts), inOrder(a, b)) < 0
	})}
}

func (p *placeholders) has(r *request) bool {
	on := p.on[r.node]
	return on != nil && on.has(r)
}

func (p *placeholders) add(kinds *resources.Kinds, r *request) {
	if p.on == nil {
		p.on, p.first = map[*node]*askSet{}, bySize(kinds)
	}
	on := p.on[r.node]
	if on == nil {
		set := bySize(kinds)
		on = &set
		p.on[r.node] = on
	} else {
		p.first.remove(on.head())
	}
	on.add(r)
	p.first.add(on.head())
	p.count++
}

// remove takes a placeholder out that is listed.
func (p *placeholders) remove(r *request) {
	on := p.on[r.node]
	p.first.remove(on.head())
	if on.remove(r) {
		delete(p.on, r.node)
	} else {
		p.first.add(on.head())
	}
	p.count--
}

// fitting is the first placeholder on a node that is as large as an ask; nil if there is none.
func (p *placeholders) fitting(r *request, n *node) *request {
	for placeholder := range p.on[n].all {
		if r.Amounts.FitsIn(placeholder.Amounts) {
			return placeholder
		}
	}
	return nil
}

// A placeholderSearch is how far the asks of a class were compared with the placeholders of their
// task group. It goes on in the next batch.
type placeholderSearch struct {
	fits *request // the first one that they fit in; nil if none was found so far
	last *request // the first one of the node that was looked at last; nil if none was
	over bool     // they are refused everywhere
}

// searchFor is the search for the asks of a class, or a new one.
func (g *taskGroup) searchFor(class string) *placeholderSearch {
	s := g.searches[class]
	if s == nil || s.fits != nil && !g.free.has(s.fits) {
		s = &placeholderSearch{}
		if g.searches == nil {
			g.searches = map[string]*placeholderSearch{}
		}
		g.searches[class] = s
	}
	return s
}
