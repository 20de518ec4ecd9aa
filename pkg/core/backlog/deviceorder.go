package backlog

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A deviceOrder keeps the open nodes, for each amounts that asks want, in the order of what
// such an ask would waste of the devices there. A list of the nodes that have changed says
// what an order has missed when it is used again. So a placement takes as many logarithmic
// steps as nodes changed since the last ask of these amounts.
type deviceOrder struct {
	policy  devices.Policy
	ByAsk   map[string]*rankedNodes
	uses    uint64
	changed []*ledger.Node // open or not; the last ones
	dropped uint64         // how many changes there were before those
	all     *NodeOrder
	visited *uint64
	Most    int            // nodes in all orders together; rankedMax
	known   []knownDevices // by slot of the node
	scarce  *scarceness    // nil if all nodes cost the same
}

// rankedNodes are the nodes with room for some amounts, the one where least is wasted first.
type rankedNodes struct {
	amounts resources.Amounts
	byClass []order.Tree[*rankedNode] // as the nodes of one class have one price
	bySlot  []*rankedNode
	seen    uint64 // how many changes are taken into account
	used    uint64 // when it was used last
	prices  prices
	weighed uint64 // how often prices had been worked out
}

// A rankedNode is a node in such an order.
type rankedNode struct {
	node  *ledger.Node
	class int
	tie   tie // its score is the cost, without the price of the node class
	links order.Links[*rankedNode]
}

// Before orders by cost, lowest first, then by domain and ID.
func (r *rankedNode) Before(other *rankedNode) bool {
	if is := compareTies(r.tie, other.tie); is != 0 {
		return is < 0
	}
	return r.node.ID < other.node.ID
}

// Links are the place in the order.
func (r *rankedNode) Links() *order.Links[*rankedNode] { return &r.links }

// Summarise has nothing to do: all nodes there have room.
func (r *rankedNode) Summarise() bool { return false }

// rankedMax is how many nodes all orders have together, about 100 bytes each. Beyond it the
// order that was not used for longest goes, and is made anew when it is needed.
const rankedMax = 1 << 20

// newDeviceOrder is an order for the kinds that come in devices; nil if there are none.
func newDeviceOrder(kinds *resources.Kinds, all *NodeOrder, c api.NodeOrder) *deviceOrder {
	sizes, scarce := c.Devices, c.Scarcity
	d := &deviceOrder{ByAsk: map[string]*rankedNodes{}, all: all, visited: all.visited, Most: rankedMax}
	for _, name := range sortedNames(sizes) {
		if kind, err := kinds.Intern(name); err == nil && sizes[name] > 0 {
			d.policy.Devices = append(d.policy.Devices, devices.Kind{Kind: kind, Size: sizes[name]})
		}
	}
	if len(d.policy.Devices) == 0 && !scarce {
		return nil
	}
	for _, w := range all.weights {
		if !slices.ContainsFunc(d.policy.Devices, func(k devices.Kind) bool { return k.Kind == w.kind }) {
			d.policy.Beside = append(d.policy.Beside, w.kind)
		}
	}
	if scarce {
		d.scarce = newScarceness(&d.policy)
	}
	return d
}

// note takes in that a node has changed.
func (d *deviceOrder) note(n *ledger.Node) {
	if most := 2*d.all.Tree.Len() + 1024; len(d.changed) >= 2*most {
		d.dropped += uint64(len(d.changed) - most)
		d.changed = append(d.changed[:0], d.changed[len(d.changed)-most:]...)
	}
	d.changed = append(d.changed, n)
	if d.scarce != nil {
		d.scarce.note(n, d.all.freeOn(n))
	}
}

// of are the nodes for some amounts, as they are now.
func (d *deviceOrder) of(amounts resources.Amounts) *rankedNodes {
	key := make([]byte, 0, 64)
	for _, v := range amounts {
		key = binary.AppendVarint(key, v)
	}
	ranked := d.ByAsk[string(key)]
	if ranked == nil {
		ranked = &rankedNodes{amounts: amounts.Clone()}
		d.ByAsk[string(key)] = ranked
		d.makeRoom(ranked)
	}
	d.uses++
	ranked.used = d.uses
	d.update(ranked)
	return ranked
}

// makeRoom drops the orders that were not used for longest, if there are too many.
func (d *deviceOrder) makeRoom(but *rankedNodes) {
	for most := max(d.Most/max(d.all.Tree.Len(), 1), 1); len(d.ByAsk) > most; {
		oldest := ""
		for key, ranked := range d.ByAsk {
			if ranked != but && (oldest == "" || ranked.used < d.ByAsk[oldest].used) {
				oldest = key
			}
		}
		delete(d.ByAsk, oldest)
	}
}

// update takes the changes into account that an order has missed.
func (d *deviceOrder) update(ranked *rankedNodes) {
	if ranked.bySlot == nil || ranked.seen < d.dropped {
		*ranked = rankedNodes{amounts: ranked.amounts, used: ranked.used, bySlot: make([]*rankedNode, d.all.Tree.Len())}
		for at := range d.all.Tree.All {
			d.place(ranked, at.Node)
		}
	} else {
		for _, n := range d.changed[ranked.seen-d.dropped:] {
			d.place(ranked, n)
		}
	}
	ranked.seen = d.dropped + uint64(len(d.changed))
	if d.scarce != nil {
		d.scarce.price(ranked)
	}
}

// place brings the place of a node up to date.
func (d *deviceOrder) place(ranked *rankedNodes, n *ledger.Node) {
	*d.visited++
	is := *tables.At(&ranked.bySlot, n.Slot)
	if is != nil && is.node != n {
		if n.Gone {
			return // another node has the slot
		}
		ranked.tree(is.class).Remove(is)
		is = nil
	}
	if !d.all.has(n) || !ranked.amounts.FitsIn(n.Room) {
		if is != nil {
			ranked.tree(is.class).Remove(is)
			ranked.bySlot[n.Slot] = nil
		}
		return
	}
	class := d.classOf(n)
	if is != nil && is.class != class {
		ranked.tree(is.class).Remove(is)
		is = nil
	}
	at := tie{d.policy.Cost(d.nodeOf(n), ranked.amounts), d.all.of(n).tie.domain}
	if is == nil {
		is = &rankedNode{node: n, tie: at, class: class}
		ranked.bySlot[n.Slot] = is
		for len(ranked.byClass) <= class {
			ranked.byClass = append(ranked.byClass, order.Tree[*rankedNode]{Looked: d.visited})
		}
		ranked.tree(class).Insert(is)
		return
	}
	ranked.tree(class).Settle(is, true, is.tie != at, false, func() { is.tie = at })
}

// nodeOf is a node as package devices sees it.
func (d *deviceOrder) nodeOf(n *ledger.Node) *devices.Node {
	known := tables.At(&d.known, n.Slot)
	if known.of != n || known.revision != n.Revision {
		known.of, known.revision = n, n.Revision
		known.Capacity, known.Free, known.Room = n.Capacity, n.Free, d.all.of(n).tie.score
		known.Tables = d.tablesOf(n)
	}
	return &known.Node
}

// knownDevices are the devices of a node as of a revision of it.
type knownDevices struct {
	devices.Node
	of       *ledger.Node // another one may have had its slot
	revision uint64
}

// tablesOf divides the devices of a node among what runs there, in the order in which it
// was placed: resource managers mostly do it in this way. It depends on the ledger alone.
func (d *deviceOrder) tablesOf(n *ledger.Node) []devices.Table {
	on := make([]*ledger.Request, 0, len(n.Own)+len(n.Foreign))
	for r := range n.AllOn {
		if slices.ContainsFunc(d.policy.Devices, func(k devices.Kind) bool { return r.Amounts.Of(k.Kind) > 0 }) {
			on = append(on, r)
		}
	}
	slices.SortFunc(on, func(a, b *ledger.Request) int {
		return cmp.Or(a.Placed.Compare(b.Placed), strings.Compare(string(a.Key), string(b.Key)))
	})
	return d.policy.Tables(n.Capacity, func(yield func(resources.Amounts) bool) {
		for _, r := range on {
			if !yield(r.Amounts) {
				return
			}
		}
	})
}
