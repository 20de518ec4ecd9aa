package backlog

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// The nodes with room for some amounts stand in one tree for each class, without the price of the
// class. So no node moves when prices change: a search compares what is first of each class. Nodes
// of the same cost are tried by class, then as their tree says.

// prices are those of classes for some amounts; empty if all are the same.
type prices []int64

// of is the price of a class.
func (p prices) of(class int) int64 {
	if class < len(p) {
		return p[class]
	}
	return 0
}

// tree are the nodes of a class.
func (ranked *rankedNodes) tree(class int) *order.Tree[*rankedNode] { return &ranked.byClass[class] }

// len is how many nodes there are.
func (ranked *rankedNodes) len() (count int) {
	for i := range ranked.byClass {
		count += ranked.byClass[i].Len()
	}
	return count
}

// cost is what an ask costs on a node, with the price of its class.
func (ranked *rankedNodes) cost(is *rankedNode) int64 {
	return is.tie.score + ranked.prices.of(is.class)
}

// first is the first node in order.
func (ranked *rankedNodes) first(byUse bool) *ledger.Node {
	var best *rankedNode
	for class := range ranked.byClass {
		is := ranked.firstOf(class, byUse)
		if is != nil && (best == nil || ranked.cost(is) < ranked.cost(best)) {
			best = is
		}
	}
	return best.nodeOrNil()
}

// firstOf is the first node of a class.
func (ranked *rankedNodes) firstOf(class int, byUse bool) *rankedNode {
	tree := ranked.tree(class)
	top := tree.First()
	if top != nil && byUse {
		return firstTie(tree.Root(), top, ranked.amounts)
	}
	return top
}

// next is the node after another one in order.
func (ranked *rankedNodes) next(after *ledger.Node, byUse bool) *ledger.Node {
	last := *tables.At(&ranked.bySlot, after.Slot)
	if last == nil {
		return nil
	}
	var best *rankedNode
	for class := range ranked.byClass {
		is := ranked.nextOf(class, last, byUse)
		if is != nil && (best == nil || ranked.cost(is) < ranked.cost(best)) {
			best = is
		}
	}
	return best.nodeOrNil()
}

// nextOf is the first node of a class that stands after another, of any class.
func (ranked *rankedNodes) nextOf(class int, last *rankedNode, byUse bool) *rankedNode {
	root := ranked.tree(class).Root()
	if class == last.class {
		if byUse {
			return nextTie(root, last, ranked.amounts)
		}
		return seek(root, &spot{tie: last.tie, id: string(last.node.ID)}, ranked.amounts)
	}
	least := ranked.cost(last) - ranked.prices.of(class)
	if class > last.class {
		least-- // those of the same cost come after it
	}
	top := seek(root, &spot{tie: tie{score: least}, over: true}, ranked.amounts)
	if top != nil && byUse {
		return firstTie(root, top, ranked.amounts)
	}
	return top
}

// nodeOrNil is the node; nil if there is none.
func (r *rankedNode) nodeOrNil() *ledger.Node {
	if r == nil {
		return nil
	}
	return r.node
}

// all visits the nodes in order, but for what is used of their domains. It walks the trees of all classes beside each other, so that it
// looks at each node once, and for each at what is first of each class.
func (ranked *rankedNodes) all(yield func(*ledger.Node) bool) {
	left := make([]rest, len(ranked.byClass))
	for class := range left {
		left[class].enter(ranked.tree(class).Root())
	}
	for {
		var best *rankedNode
		for class := range left {
			is := left[class].first()
			if is != nil && (best == nil || ranked.cost(is) < ranked.cost(best)) {
				best = is
			}
		}
		if best == nil || !yield(best.node) {
			return
		}
		left[best.class].pass()
	}
}

// A rest is what is left of a tree in a walk: its items whose right side is not entered yet, the first one last.
type rest []*rankedNode

// enter adds a subtree that stands before all that is left.
func (r *rest) enter(top *rankedNode) {
	for ; top != nil; top = top.links.Left {
		*r = append(*r, top)
	}
}

// first is the first item that is left; nil if there is none.
func (r *rest) first() *rankedNode {
	if len(*r) == 0 {
		return nil
	}
	return (*r)[len(*r)-1]
}

// pass leaves the first item behind.
func (r *rest) pass() {
	is := r.first()
	*r = (*r)[:len(*r)-1]
	r.enter(is.links.Right)
}

// compare compares nodes as they stand in order, but for what is used of their domains.
func (ranked *rankedNodes) compare(x, y *rankedNode) int {
	return cmp.Or(
		cmp.Compare(ranked.cost(x), ranked.cost(y)), cmp.Compare(x.class, y.class),
		compareDomains(x.tie.domain, y.tie.domain), cmp.Compare(x.node.ID, y.node.ID),
	)
}
