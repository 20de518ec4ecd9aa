package ledger

import (
	"github.com/google/btree"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// placeholders are those of a task group that run and may be replaced: the largest first, those
// of one size in order.
//
//	First = the first of those on each node
type placeholders struct {
	on    map[*Node]*AskSet
	First AskSet
	Count int
}

func bySize(kinds *resources.Kinds) AskSet {
	return AskSet{btree.NewG(8, sizeOrder{kinds}.less)}
}

// Has reports whether a placeholder is in the set.
func (p *placeholders) Has(r *Request) bool {
	on := p.on[r.RunsOn]
	return on != nil && on.Has(r)
}

func (p *placeholders) add(kinds *resources.Kinds, r *Request) {
	if p.on == nil {
		p.on, p.First = map[*Node]*AskSet{}, bySize(kinds)
	}
	on := p.on[r.RunsOn]
	if on == nil {
		set := bySize(kinds)
		on = &set
		p.on[r.RunsOn] = on
	} else {
		p.First.Remove(on.Head())
	}
	on.Add(r)
	p.First.Add(on.Head())
	p.Count++
}

// remove takes a placeholder out that is listed.
func (p *placeholders) remove(r *Request) {
	on := p.on[r.RunsOn]
	p.First.Remove(on.Head())
	if on.Remove(r) {
		delete(p.on, r.RunsOn)
	} else {
		p.First.Add(on.Head())
	}
	p.Count--
}

// Fitting is the first placeholder on a node that is as large as an ask; nil if there is none.
func (p *placeholders) Fitting(r *Request, n *Node) *Request {
	for placeholder := range p.on[n].All {
		if r.Amounts.FitsIn(placeholder.Amounts) {
			return placeholder
		}
	}
	return nil
}
