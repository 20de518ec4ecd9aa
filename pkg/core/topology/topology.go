package topology

import (
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// A Topology is which nodes are in which domains. It has a tree of domains for each list of keys that is configured,
// and one for each other list that was asked for.
//
//	a node is in at most one domain of each level, and in all that are above it
//	a domain has a node
type Topology struct {
	Active  bool // changes of nodes are to be taken in
	nodes   iter.Seq[*ledger.Node]
	used    func(*ledger.Node) int64
	trees   []*tree
	lists   [][]string       // that are configured, of which the first trees are
	levels  map[string]level // of the configured lists, by key
	extra   map[string]int   // trees of other lists, by their keys
	places  []*place         // by the slots of nodes
	numbers tables.Numbers   // of domains
	slots   map[string]*Slots
	reads   uint64 // of slots

	changed []int32 // the slots of nodes whose room has changed, the last ones
	dropped uint64  // how many there were before those
}

// A tree is the domains of one list of keys.
type tree struct {
	at   int // of the trees
	keys []string
	top  []*Domain // by value
}

// A level is the place of a key.
type level struct{ tree, depth int }

// A place is a node with the domains that it is in.
type place struct {
	node    *ledger.Node
	seats   []seat // by tree
	is      usage
	updated uint64 // the count of updated nodes when its attributes were looked at last
	changed uint64 // the count of changes when this node was changed last
}

// A seat is a place among the members of the finest domain that a node is in; none if it is in none of the tree.
type seat struct {
	domain *Domain
	at     int
}

// usage is what a node adds to its domains.
type usage struct {
	open, busy int
	share      int64
}

// New is a topology of some nodes without lists of keys. Used is what is used of a node, as the order of nodes counts.
func New(nodes iter.Seq[*ledger.Node], used func(*ledger.Node) int64) *Topology {
	return &Topology{nodes: nodes, used: used, levels: map[string]level{}, extra: map[string]int{}, slots: map[string]*Slots{}}
}

// Configure sets the lists of keys, coarse to fine; a key is in one of them, once. All else is forgotten: each node is to
// be taken in anew by Change, if there are any lists.
func (t *Topology) Configure(lists [][]string) {
	*t = *New(t.nodes, t.used)
	t.lists = lists
	t.Active = len(lists) > 0
	for i, keys := range lists {
		t.trees = append(t.trees, &tree{at: i, keys: keys})
		for depth, key := range keys {
			t.levels[key] = level{i, depth}
		}
	}
}

// HasLists reports whether levels are configured.
func (t *Topology) HasLists() bool { return len(t.lists) > 0 }

// Keys are the keys of all levels, those of a list together and coarse to fine.
func (t *Topology) Keys(yield func(string) bool) {
	for _, tree := range t.trees {
		for _, key := range tree.keys {
			if !yield(key) {
				return
			}
		}
	}
}

// begin looks at all nodes for the first time.
func (t *Topology) begin() {
	if !t.Active {
		t.Active = true
		for n := range t.nodes {
			t.enter(n)
		}
	}
}

// Finest is the finest domain of the first list that a node is in; nil if it is in none.
func (t *Topology) Finest(n *ledger.Node) *Domain {
	if p := t.placeOf(n); p != nil && len(t.lists) > 0 {
		return p.seats[0].domain
	}
	return nil
}

// placeOf is what is known of a node; nil if nothing is.
func (t *Topology) placeOf(n *ledger.Node) *place {
	if int(n.Slot) < len(t.places) && t.places[n.Slot] != nil && t.places[n.Slot].node == n {
		return t.places[n.Slot]
	}
	return nil
}

// enter makes a node known.
func (t *Topology) enter(n *ledger.Node) {
	p := &place{node: n, updated: n.UpdatedAt, is: usageOf(n, t.used(n))}
	*tables.At(&t.places, n.Slot) = p
	t.settle(p)
	t.note(p)
}

// follow has a node that has other attributes leave its domains for others.
func (t *Topology) follow(p *place) {
	if p.updated = p.node.UpdatedAt; !t.isSettled(p) {
		t.leave(p, 0)
		t.settle(p)
	}
}

// isSettled reports whether a node is in the domains that its attributes name.
func (t *Topology) isSettled(p *place) bool {
	for i, tree := range t.trees {
		for depth, key := range tree.keys {
			value, d := p.node.Attributes[key], p.seats[i].domain.at(depth)
			if d == nil && value == "" {
				break
			}
			if d == nil || d.value != value {
				return false
			}
		}
	}
	return true
}

// settle has a node enter those domains that its attributes name, of trees in which it has no seat.
func (t *Topology) settle(p *place) {
	for i := len(p.seats); i < len(t.trees); i++ {
		is := seat{domain: t.domainFor(t.trees[i], p.node)}
		if d := is.domain; d != nil {
			is.at = len(d.members)
			d.members = append(d.members, p)
			d.count(1, p.is)
			for _, s := range t.slots {
				s.count(d, s.on(p.node.Slot))
			}
		}
		p.seats = append(p.seats, is)
	}
}

// domainFor is the finest domain of a tree that the attributes of a node name, which is made if it is new.
func (t *Topology) domainFor(in *tree, n *ledger.Node) (finest *Domain) {
	below := &in.top
	for depth, key := range in.keys {
		value := n.Attributes[key]
		if value == "" {
			break
		}
		at, d := child(*below, value)
		if d == nil {
			d = &Domain{Name: value, value: value, tree: in.at, depth: depth, Parent: finest, number: t.numbers.Take()}
			if finest != nil {
				d.Name = finest.Name + "/" + value
			}
			*below = slices.Insert(*below, at, d)
		}
		finest, below = d, &d.below
	}
	return finest
}

// leave has a node leave its domains in the trees from one on.
func (t *Topology) leave(p *place, from int) {
	for i := from; i < len(p.seats); i++ {
		is := p.seats[i]
		if is.domain == nil {
			continue
		}
		for _, s := range t.slots {
			s.count(is.domain, -s.on(p.node.Slot))
		}
		is.domain.count(-1, usage{-p.is.open, -p.is.busy, -p.is.share})
		last := len(is.domain.members) - 1
		moved := is.domain.members[last]
		is.domain.members[is.at] = moved
		moved.seats[i].at = is.at
		is.domain.members[last] = nil
		is.domain.members = is.domain.members[:last]
		t.prune(t.trees[i], is.domain)
	}
	p.seats = p.seats[:from]
	if from == 0 {
		for _, s := range t.slots {
			s.forget(p.node.Slot)
		}
	}
}

// prune drops a domain without nodes, and those above it.
func (t *Topology) prune(in *tree, d *Domain) {
	for ; d != nil && d.Nodes == 0; d = d.Parent {
		list := &in.top
		if d.Parent != nil {
			list = &d.Parent.below
		}
		at, _ := child(*list, d.value)
		*list = slices.Delete(*list, at, at+1)
		t.numbers.GiveBack(d.number)
	}
}

// Change takes in that a node has come or gone, or that its attributes, what is on it or whether it takes asks has changed.
// Used is what is used of it. It is to be called while the topology is active.
func (t *Topology) Change(n *ledger.Node, used int64) {
	p := t.placeOf(n)
	switch {
	case n.Gone && p == nil:
		return
	case n.Gone:
		t.leave(p, 0)
		t.places[n.Slot] = nil
		return
	case p == nil:
		t.enter(n)
		p = t.placeOf(n)
	case p.updated != n.UpdatedAt:
		t.follow(p)
	}
	t.note(p)
	is := usageOf(n, used)
	if by := (usage{is.open - p.is.open, is.busy - p.is.busy, is.share - p.is.share}); by != (usage{}) {
		p.is = is
		for _, at := range p.seats {
			at.domain.count(0, by)
		}
	}
}

// usageOf is what a node adds to its domains.
func usageOf(n *ledger.Node, used int64) (is usage) {
	if n.Schedulable {
		is.open, is.share = 1, used
	}
	if slices.ContainsFunc(n.Own, func(r *ledger.Request) bool { return r.Required == "" }) {
		is.busy = 1
	}
	return is
}
