package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// gangRoomDelay is how long a gang that starts whole does not fit before nodes are kept for it.
const gangRoomDelay = time.Minute

// Without kept nodes, small asks could take whatever comes free for ever, and a gang that starts
// whole would never start. One gang of a partition at a time has nodes kept, so that no two wait
// for what the other has: the most important one, of these the one that waits longest. Its asks
// hold ordinary reservations, so more important asks take the room all the same. It keeps no
// more nodes than would hold it if they were empty, and after ReserveMax it is the turn of others.

// keepRoom keeps nodes for the gang of a plan that came to nothing, if it is its turn.
func (p gangs) keepRoom(g *gangPlan) {
	app, work := g.asks[0].application, &p.gangWork
	gang := app.gang
	gang.priority, app.view = g.asks[0].class.standing.Root, nil
	if gang.since.IsZero() {
		gang.since = p.now
	}
	if work.holder == app && (g.overQuota || !gang.until.After(p.now)) {
		if !g.overQuota {
			gang.since = p.now // others come first now
		}
		p.dropRoom()
	}
	if g.overQuota || !p.isTurnOf(app) {
		return
	}
	nodes := g.nodesToKeep()
	if work.holder == app && len(nodes) == 0 || work.holder != app && len(nodes) > 0 {
		p.dropRoom()
	}
	if len(nodes) == 0 {
		return
	}
	if work.holder == nil {
		work.holder, gang.until = app, p.now.Add(p.options.ReserveMax)
	}
	p.keepNodes(g.asks, nodes)
}

// isTurnOf reports whether nodes may be kept for a gang now.
func (p gangs) isTurnOf(app *application) bool {
	holder := p.gangWork.holder
	switch {
	case p.options.ReserveDelay < 0:
		return false
	case holder == app:
		return true
	case app.gang.since.Add(gangRoomDelay).After(p.now):
		return false
	}
	return holder == nil || cmp.Or(
		cmp.Compare(holder.gang.priority, app.gang.priority),
		app.gang.since.Compare(holder.gang.since),
		strings.Compare(string(app.id), string(holder.id)),
	) < 0
}

// dropRoom opens the nodes that are kept for a gang.
func (p gangs) dropRoom() {
	holder := p.gangWork.holder
	if holder == nil {
		return
	}
	p.gangWork.holder, holder.gang.until, holder.view = nil, time.Time{}, nil
	for _, r := range byKey(holder.asks) {
		if startsWhole(r) {
			p.reservations.unreserve(r)
		}
	}
}

// keepNodes keeps these nodes for a gang and no others.
func (p gangs) keepNodes(asks []*request, nodes []*node) {
	wanted := make(map[NodeID]bool, len(nodes))
	for _, n := range nodes {
		wanted[n.id] = true
	}
	var idle []*request
	for _, r := range asks {
		held := r.reservation()
		if held != nil && !wanted[held.Node] {
			p.reservations.unreserve(r)
			held = nil
		}
		if held == nil {
			idle = append(idle, r)
		}
	}
	for _, n := range nodes {
		if n.reserved != nil && n.reserved.application == asks[0].application {
			continue
		}
		if n.reserved != nil {
			p.reservations.unreserve(n.reserved)
		}
		p.reservations.reserve(idle[0], n)
		idle = idle[1:]
	}
}

// givesNode reports whether the node that an ask has reserved may be kept for a gang: for one that is
// as important, as its own is to all of its members.
func givesNode(r, to *request) bool { return r.class.standing.compare(to.class.standing) <= 0 }

// A keepable is a node that may be kept for a gang.
type keepable struct {
	*node
	rank    int
	missing resources.Share
}

// Those where a part of the gang fits come first, then those that are kept, then those that come
// closest to having room, and those that another ask has reserved come last.
const (
	partFits = iota
	isKept
	isOpen
	isReserved
)

func (k keepable) compare(other keepable) int {
	return cmp.Or(cmp.Compare(k.rank, other.rank), k.missing.Compare(other.missing), strings.Compare(string(k.id), string(other.id)))
}

// rank is that of a node.
func (g *gangPlan) rank(n *node) int {
	switch on := g.on[n]; {
	case on != nil && len(on.asks) > 0:
		return partFits
	case n.reserved == nil:
		return isOpen
	case n.reserved.application == g.asks[0].application:
		return isKept
	}
	return isReserved
}

// nodesToKeep are nodes that hold the gang of a plan which came to nothing, when what runs on them
// has ended; none if there are not enough.
func (g *gangPlan) nodesToKeep() (nodes []*node) {
	rest := slices.Clone(g.asks[len(g.nodes):])
	var list []keepable
	for n := range g.allNodes {
		if n.schedulable && !n.claimed() && len(n.nominated) == 0 && (n.reserved == nil || givesNode(n.reserved, g.asks[0])) {
			list = append(list, keepable{n, g.rank(n), missingShare(rest[0].Amounts, n.free)})
		}
	}
	slices.SortFunc(list, keepable.compare)
	for _, k := range list {
		before := len(rest)
		if before == 0 && k.rank > partFits {
			break
		}
		rest = g.takeEmpty(k, rest)
		if k.rank == partFits || len(rest) < before {
			nodes = append(nodes, k.node)
		}
	}
	if len(rest) > 0 && !g.exhausted {
		return nil
	}
	return nodes
}

// takeEmpty takes those asks off a list that fit on a node beside what is planned there, if
// nothing but foreign allocations runs there.
func (g *gangPlan) takeEmpty(k keepable, rest []*request) []*request {
	room := k.capacity.Minus(k.occupied.Amounts)
	if on := g.on[k.node]; on != nil {
		room.Sub(on.used)
	}
	var asked, refuses *class
	return slices.DeleteFunc(rest, func(r *request) bool {
		if r.class == refuses || !r.Amounts.FitsIn(room) {
			return false
		}
		if r.class != asked && k.rank > isKept && !g.mayRunOn(r, k.node) {
			refuses = r.class
			return false
		}
		asked = r.class
		room.Sub(r.Amounts)
		return true
	})
}

// mayRunOn asks the resource manager whether an ask may run on a node at all. A plan that has asked
// often enough keeps what it found, and the next one goes on. So it is where the batch has placed
// something, of which the resource manager does not know yet.
func (g *gangPlan) mayRunOn(r *request, n *node) bool {
	if g.options.Feasible == nil {
		return true
	}
	if g.keepCalls++; g.keepCalls > callsMax || g.predicates.wait(FurtherQuestion) > 0 {
		g.exhausted = true
		return false
	}
	result, _ := g.predicates.check(r, n, false)
	g.exhausted = g.exhausted || result == flush
	return result == placed
}
