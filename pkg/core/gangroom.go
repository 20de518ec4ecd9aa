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

// Without claims, small asks could take whatever comes free for ever, and a gang that starts
// whole would never start. One gang of a partition at a time has claims, so that no two wait
// for what the other has: the most important one, of these the one that waits longest. Each of its
// asks claims its amounts on a node, where all of them can run when all has left that may leave,
// or none does. After ReserveMax it is the turn of others.

// keepRoom keeps nodes for the gang of a plan that came to nothing, if it is its turn.
func (p gangs) keepRoom(g *gangPlan) {
	app, work := g.asks[0].application, &p.gangWork
	gang := app.gang
	gang.priority, app.view = g.asks[0].class.importance, nil
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
	wanted := g.nodesToKeep()
	if work.holder == app && len(wanted) == 0 || work.holder != app && len(wanted) > 0 {
		p.dropRoom()
	}
	if len(wanted) == 0 {
		return
	}
	if work.holder == nil {
		work.holder, gang.until = app, p.now.Add(p.options.ReserveMax)
	}
	p.claim(g.asks, wanted)
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
			p.kept.end(r, "it is not the turn of its gang", LossOfRoom)
		}
	}
}

// claim has the asks of a gang claim room on some nodes and nowhere else.
func (p gangs) claim(asks []*request, wanted map[*request]*node) {
	for _, r := range asks {
		if held := r.claim(); held != nil && held.node != wanted[r] {
			p.kept.end(r, "its gang has other nodes", LossOfRoom)
		}
	}
	for _, r := range asks {
		if n := wanted[r]; n != nil {
			p.kept.reserve(r, n)
		}
	}
}

// A keepable is a node that may be kept for a gang.
type keepable struct {
	*node
	rank    int
	missing resources.Share
}

// Those where a part of the gang fits come first, then those that are kept, then those that come
// closest to having room.
const (
	partFits = iota
	isKept
	isOpen
)

func (k keepable) compare(other keepable) int {
	return cmp.Or(cmp.Compare(k.rank, other.rank), k.missing.Compare(other.missing), strings.Compare(string(k.id), string(other.id)))
}

// rank is that of a node.
func (g *gangPlan) rank(n *node) int {
	switch on := g.on[n]; {
	case on != nil && len(on.asks) > 0:
		return partFits
	case slices.Contains(g.kept, n):
		return isKept
	}
	return isOpen
}

// nodesToKeep says where each ask of the gang of a plan which came to nothing can run, when all has
// left that may leave; nothing if there is not enough room for all of them.
func (g *gangPlan) nodesToKeep() map[*request]*node {
	wanted := make(map[*request]*node, len(g.asks))
	for i, n := range g.nodes {
		wanted[g.asks[i]] = n
	}
	rest := slices.Clone(g.asks[len(g.nodes):])
	var list []keepable
	for n := range g.allNodes {
		if n.schedulable {
			list = append(list, keepable{n, g.rank(n), rest[0].Amounts.MissingShare(n.free)})
		}
	}
	slices.SortFunc(list, keepable.compare)
	for _, k := range list {
		if len(rest) == 0 {
			break
		}
		rest = g.takeEmpty(k, rest, wanted)
	}
	if len(rest) > 0 && !g.exhausted {
		return nil
	}
	return wanted
}

// takeEmpty takes those asks off a list that fit on a node beside what is planned there and what
// stays, and beside the claims that are kept from the gang.
func (g *gangPlan) takeEmpty(k keepable, rest []*request, wanted map[*request]*node) []*request {
	room := whenLeft(k.node)
	for _, other := range k.claims {
		if other.keepsFromGang(g.asks[len(g.asks)-1]) { // the least important one
			room.Sub(other.Amounts)
		}
	}
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
		wanted[r] = k.node
		return true
	})
}

// keepsFromGang reports whether what is claimed for an ask is kept from one of a gang: those of one
// gang take what is kept for any of them.
func (r *request) keepsFromGang(member *request) bool {
	return r.class.importance >= member.class.importance && !(r.application == member.application && startsWhole(r))
}

// roomForGang is what is free on a node for an ask of a gang.
func (n *node) roomForGang(member *request) resources.Amounts {
	if len(n.claims) == 0 {
		return n.free
	}
	room := n.free.Clone()
	for _, r := range n.claims {
		if r.keepsFromGang(member) {
			room.Sub(r.Amounts)
		}
	}
	return room
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
