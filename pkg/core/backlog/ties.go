package backlog

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Where nodes are packed and levels are configured, single asks leave domains whole: of nodes that are alike for the order, those in no
// domain come first, then those of the domain of which most is used. What is used of a domain changes with each of its nodes,
// so that nodes stand by their domains, in a run for each, and the first run is found when a node is looked for: that takes a search
// for each domain with nodes of the same score.

// A tie is what decides the place of a node beside its ID. The domain is the finest of the first list; nil is none, or that domains do
// not count.
type tie struct {
	score  int64
	domain *topology.Domain
}

// tiedNode is a node in an order, with what decides its place.
type tiedNode[T any] interface {
	order.Item[T]
	is() tie
	id() string
	// holds reports whether the node, and whether any of its subtree, may have room for an ask.
	holds(ask resources.Amounts) (here, below bool)
}

func compareDomains(a, b *topology.Domain) int {
	switch {
	case a == b:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return a.Compare(b)
}

// compareUse orders domains as asks take them: none, then those of which most is used, then by name.
func compareUse(a, b *topology.Domain) int {
	if a == nil || b == nil {
		return compareDomains(a, b)
	}
	return cmp.Or(cmp.Compare(b.Used(), a.Used()), a.Compare(b))
}

// A spot is a place between nodes: behind those of a run that stand before an ID, or behind all of a run or of a score.
type spot struct {
	tie
	id   string // after which nodes of the run stand; empty if they do not
	over bool   // all runs of the score are before
}

// after reports whether a node stands after a spot.
func (s *spot) after(is tie, id string) bool {
	switch {
	case is.score != s.score || s.over:
		return is.score > s.score
	case is.domain != s.domain:
		if order := compareDomains(is.domain, s.domain); order != 0 {
			return order > 0
		}
	}
	return s.id != "" && id > s.id
}

// seek is the first node with room after a spot.
func seek[T tiedNode[T]](top T, s *spot, ask resources.Amounts) (found T) {
	var none T
	if top == none {
		return none
	}
	here, below := top.holds(ask)
	if !below {
		return none
	}
	if s.after(top.is(), top.id()) {
		if found = seek(top.Links().Left, s, ask); found != none {
			return found
		}
		if here {
			return top
		}
	}
	return seek(top.Links().Right, s, ask)
}

// firstTie is, of the nodes with the score of the first one that has room, that to be taken first.
func firstTie[T tiedNode[T]](root, first T, ask resources.Amounts) T {
	var none T
	best := first
	for at := first; at != none && at.is().score == first.is().score; at = seek(root, &spot{tie: at.is()}, ask) {
		if compareUse(at.is().domain, best.is().domain) < 0 {
			best = at
		}
	}
	return best
}

// nextTie is the node to be taken after another: of its run, of the next one of its score, or the first of the next score.
func nextTie[T tiedNode[T]](root, after T, ask resources.Amounts) T {
	var none, next T
	is := after.is()
	if at := seek(root, &spot{tie: is, id: after.id()}, ask); at != none && compareTies(at.is(), is) == 0 {
		return at
	}
	for at := seek(root, &spot{tie: tie{score: is.score - 1}, over: true}, ask); at != none && at.is().score == is.score; at = seek(root, &spot{tie: at.is()}, ask) {
		if compareUse(at.is().domain, is.domain) > 0 && (next == none || compareUse(at.is().domain, next.is().domain) < 0) {
			next = at
		}
	}
	if next == none {
		if next = seek(root, &spot{tie: is, over: true}, ask); next != none {
			next = firstTie(root, next, ask)
		}
	}
	return next
}

func compareTies(a, b tie) int {
	return cmp.Or(cmp.Compare(a.score, b.score), compareDomains(a.domain, b.domain))
}

func (n *orderedNode) is() tie    { return n.tie }
func (n *orderedNode) id() string { return string(n.ID) }

func (n *orderedNode) holds(ask resources.Amounts) (here, below bool) {
	return ask.FitsIn(n.Room), ask.FitsIn(n.most)
}

func (r *rankedNode) is() tie                                    { return r.tie }
func (r *rankedNode) id() string                                 { return string(r.node.ID) }
func (r *rankedNode) holds(resources.Amounts) (here, below bool) { return true, true }

// domainOf is the domain by which a node stands in the order.
func (o *NodeOrder) domainOf(n *ledger.Node) *topology.Domain {
	if !o.byUse {
		return nil
	}
	return o.Domains.Finest(n)
}

// usedOf is what a score says to be used of a node.
func (o *NodeOrder) usedOf(score int64) int64 {
	if o.Packing {
		return scoreMax - score
	}
	return score
}

// Used is what is used of a node as the order counts, from zero to the same number for all.
func (o *NodeOrder) Used(n *ledger.Node) int64 { return o.usedOf(o.scoreOf(n)) }
