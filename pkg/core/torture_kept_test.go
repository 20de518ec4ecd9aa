package core_test

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A tortureNomination is what an ask was told: where room is made for it, and why. It is
// known until the ask loses the room, or runs.
type tortureNomination struct {
	node    string
	trigger preemptor.Trigger
}

// nominate notes a nomination.
func (g *tortureGame) nominate(e *core.Nominated) {
	g.target[string(e.Key)] = string(e.Node)
	g.nominated[string(e.Key)] = tortureNomination{string(e.Node), e.Plan.Trigger}
	g.note("nominated %s to %s: %s", e.Key, e.Node, e.Reason)
}

// endNomination notes that one has ended. Of an ask that is placed it is known until then.
func (g *tortureGame) endNomination(e *core.NominationEnded) {
	if e.Waits {
		delete(g.nominated, string(e.Key))
	}
	g.note("not nominated %s: %s", e.Key, e.Reason)
}

// settled is the moment at which all evictions have ended, and the asks run on their nodes
// that are nominated and whose room and quota are kept from one, but for another one:
// docs/preemption.md keeps both from asks of the same or a lower priority, from all other
// queues if a guarantee was the reason, and from what waited when victims were chosen. So do asks
// with a required node for which victims were chosen, and members of gangs on the nodes where they
// are to run whose placeholders end on other ones.
func (g *tortureGame) settled(o *tortureOracle, from, but *torturePod) *tortureOracle {
	return g.besideKept(o, from, but, func(p *torturePod) bool { return !o.leaves[p.Key] })
}

// unsettled is the same while all evictions still go on: what is evicted may not end, so what
// it holds is free for no other ask.
func (g *tortureGame) unsettled(o *tortureOracle, from, but *torturePod) *tortureOracle {
	return g.besideKept(o, from, but, func(*torturePod) bool { return true })
}

// besideKept is a moment at which of what runs only this part does, beside all for which room
// is kept from an ask, but for another one.
func (g *tortureGame) besideKept(o *tortureOracle, from, but *torturePod, stays func(*torturePod) bool) *tortureOracle {
	s := g.oracle()
	s.on[but.Key] = o.on[but.Key]
	s.free, s.used, s.limits = map[string]tortureAmounts{}, map[string]tortureAmounts{}, make([]tortureAmounts, len(g.w.Limits))
	for _, n := range g.w.Nodes {
		s.free[n.Name] = n.Capacity
	}
	for _, p := range o.running {
		if stays(p) {
			s.book(p, o.on[p.Key])
		}
	}
	for _, key := range g.replaced {
		if node := g.elsewhere[key]; node != "" && g.waits[key] { // it has the quota of the placeholder
			s.free[node] = s.free[node].plus(g.w.pod(key).Amounts, -1)
		}
	}
	for key, nomination := range g.nominated {
		p := g.w.pod(key)
		kept := o.compare(p, from) >= 0 || g.keepsFrom(p, from) || g.isElsewhere(from, nomination.node)
		if kept && g.waits[key] && p != from && p != but {
			s.book(p, nomination.node)
		}
	}
	for _, p := range g.promised(o) {
		kept := from.Requires == "" || o.compare(p, from) >= 0 || g.keepsFrom(p, from)
		if kept && p != from && p != but {
			s.book(p, p.Requires)
		}
	}
	return s
}

// promised are the asks with a required node that wait and have, or may have, room on its way there:
// victims were chosen for them, of which none is overdue, or what is being evicted is enough.
func (g *tortureGame) promised(o *tortureOracle) (list []*torturePod) {
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if !g.waits[p.Key] || p.Requires == "" {
			continue
		}
		late, some := false, false
		for _, e := range g.evictions {
			if e.For == p.Key {
				some = true
				late = late || e.Late || !e.Ended && g.now.Sub(tortureStart) >= e.At+tortureTimeout
			}
		}
		room := o.free[p.Requires]
		for _, v := range o.leaving() {
			if o.on[v.Key] == p.Requires {
				room = room.plus(v.Amounts, 1)
			}
		}
		if some && !late || p.Amounts.fits(room) {
			list = append(list, p)
		}
	}
	return list
}

// isElsewhere reports whether an ask is nominated to another node than one: then it takes no room
// there that is kept for others, however important they are (docs/preemption.md).
func (g *tortureGame) isElsewhere(ask *torturePod, node string) bool {
	own, nominated := g.nominated[ask.Key]
	return nominated && own.node != node
}

// fitsOnBoth is the first node on which an ask fits at two moments, or nothing.
func (o *tortureOracle) fitsOnBoth(other *tortureOracle, ask *torturePod) string {
	for i := range o.w.Nodes {
		if n := &o.w.Nodes[i]; o.fitsOnNode(ask, n) && other.fitsOnNode(ask, n) {
			return n.Name
		}
	}
	return ""
}

func (o *tortureOracle) fitsOnNode(ask *torturePod, n *tortureNode) bool {
	place, ok := o.place(ask, n, preemptor.Priority)
	return ok && o.enough(&place, nil)
}

// goesOn reports whether an ask has room of its own on its way on another node, which is
// still there after an ask was placed in the room that was kept for that one. docs/preemption.md
// places a nominated ask wherever room comes first, but in no room that is kept for another.
func (g *tortureGame) goesOn(ask, placed *torturePod, settled *tortureOracle) bool {
	mine, its := g.nominated[ask.Key].node, g.nominated[placed.Key].node
	return mine != "" && mine != its && its == g.on[placed.Key] && settled.fitsOnNode(ask, g.w.node(mine))
}
