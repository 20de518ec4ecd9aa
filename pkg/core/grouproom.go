package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// groupRoomDelay is how long a group does not fit before room is kept for it.
const groupRoomDelay = time.Minute

// Without claims, small asks could take whatever comes free for ever, and a group would never
// start. One group of a partition at a time has claims, so that no two wait for what the other
// has: the most important one, of these the one that waits longest. As many of its asks as must
// start claim their amounts on nodes, where all of them can run when all has left that may leave,
// or none does. After ReserveMax it is the turn of others.

// keepRoom keeps room for the group of a plan that came to nothing, if it is its turn.
func (p groups) keepRoom(plan *groupPlan) {
	g := plan.group
	if g.since.IsZero() {
		g.since = p.now
	}
	if p.holder == g && (plan.overQuota || !g.until.After(p.now)) {
		if !plan.overQuota {
			g.since = p.now // others come first now
		}
		p.dropRoom()
	}
	if plan.overQuota || !p.isTurnOf(g) {
		return
	}
	wanted := plan.nodesToKeep()
	if (p.holder == g) == (len(wanted) == 0) {
		p.dropRoom()
	}
	if len(wanted) == 0 {
		return
	}
	if p.holder == nil {
		p.holder, g.until = g, p.now.Add(p.options.ReserveMax)
	}
	for r := range g.asks.all {
		if held := r.claim(); held != nil && held.node != wanted[r] {
			p.endClaim(r, "its group has other nodes")
		}
	}
	for r := range g.asks.all {
		if n := wanted[r]; n != nil {
			p.kept.reserve(r, n)
		}
	}
}

// isTurnOf reports whether room may be kept for a group now.
func (p groups) isTurnOf(g *group) bool {
	holder := p.holder
	switch {
	case p.options.ReserveDelay < 0:
		return false
	case holder == g:
		return true
	case g.since.Add(groupRoomDelay).After(p.now):
		return false
	}
	return holder == nil || cmp.Or(
		cmp.Compare(holder.importance(), g.importance()),
		g.since.Compare(holder.since),
		strings.Compare(g.name, holder.name),
	) < 0
}

// dropRoom gives up what is kept for a group.
func (p groups) dropRoom() {
	g := p.holder
	if g == nil {
		return
	}
	p.holder, g.until = nil, time.Time{}
	for r := range g.asks.all {
		p.endClaim(r, "it is not the turn of its group")
	}
}

// endClaim ends what an ask has claimed with its group.
func (p groups) endClaim(r *request, why string) {
	if c := r.claim(); c != nil && c.whole {
		p.kept.end(r, why, LossOfRoom)
	}
}

// claims is how many of its asks have claims with the group.
func (g *group) claims() (count int) {
	for r := range g.asks.all {
		if c := r.claim(); c != nil && c.whole {
			count++
		}
	}
	return count
}

// A keepable is a node on which room may be kept for a group.
type keepable struct {
	*node
	rank    int
	missing resources.Share
}

// Those where a part of the group fits come first, then those where it has claims, then those that
// come closest to having room.
const (
	partFits = iota
	isKept
	isOpen
)

func (k keepable) compare(other keepable) int {
	return cmp.Or(cmp.Compare(k.rank, other.rank), k.missing.Compare(other.missing), strings.Compare(string(k.id), string(other.id)))
}

// rank is that of a node.
func (g *groupPlan) rank(n *node) int {
	switch on := g.on[n]; {
	case on != nil && len(on.asks) > 0:
		return partFits
	case slices.Contains(g.kept, n):
		return isKept
	}
	return isOpen
}

// nodesToKeep says where enough asks of a plan which came to nothing can run, when all has left
// that may leave; nothing if there is not enough room for them.
func (g *groupPlan) nodesToKeep() map[*request]*node {
	wanted := make(map[*request]*node, g.count)
	for i, n := range g.nodes {
		wanted[g.chosen[i]] = n
	}
	rest := slices.DeleteFunc(slices.Clone(g.asks), func(r *request) bool { return wanted[r] != nil })
	var list []keepable
	for n := range g.allNodes {
		if n.schedulable && len(rest) > 0 {
			list = append(list, keepable{n, g.rank(n), rest[0].Amounts.MissingShare(n.free)})
		}
	}
	slices.SortFunc(list, keepable.compare)
	for _, k := range list {
		if len(wanted) == g.count {
			break
		}
		rest = g.takeEmpty(k, rest, wanted)
	}
	if len(wanted) < g.count && !g.exhausted {
		return nil
	}
	return wanted
}

// takeEmpty takes those asks off a list that fit on a node beside what is planned there and what
// stays, and beside the claims that are kept from the group.
func (g *groupPlan) takeEmpty(k keepable, rest []*request, wanted map[*request]*node) []*request {
	room := whenLeft(k.node)
	for _, other := range k.claims {
		if other.keepsFromGroup(g.group, g.least) {
			room.Sub(other.Amounts)
		}
	}
	if on := g.on[k.node]; on != nil {
		room.Sub(on.used)
	}
	var asked, refuses *class
	return slices.DeleteFunc(rest, func(r *request) bool {
		if r.class == refuses || len(wanted) == g.count || !r.Amounts.FitsIn(room) || !g.mayPlan(r) {
			return false
		}
		if r.class != asked && k.rank > isKept && !g.mayRunOn(r, k.node) {
			refuses = r.class
			g.plan(r, -1)
			return false
		}
		asked = r.class
		room.Sub(r.Amounts)
		wanted[r] = k.node
		return true
	})
}

// keepsFromGroup reports whether what is claimed for an ask is kept from a member of some importance:
// those of one group take what is kept for any of them.
func (r *request) keepsFromGroup(g *group, importance int32) bool {
	return r.class.importance >= importance && !(r.startsWith == g && r.wait.claim.whole)
}

// roomForMember is what is free on a node for an ask of a group.
func (n *node) roomForMember(member *request) resources.Amounts {
	if len(n.claims) == 0 {
		return n.free
	}
	room := n.free.Clone()
	for _, r := range n.claims {
		if r.keepsFromGroup(member.startsWith, member.class.importance) {
			room.Sub(r.Amounts)
		}
	}
	return room
}

// mayRunOn asks the resource manager whether an ask may run on a node at all. A plan that has asked
// often enough keeps what it found, and the next one goes on. So it is where the batch has placed
// something, of which the resource manager does not know yet.
func (g *groupPlan) mayRunOn(r *request, n *node) bool {
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
