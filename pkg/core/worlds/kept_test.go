package worlds

import (
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A nomination is what an ask was told: where room is made for it, and why. It is
// known until the ask loses the room, or runs.
type nomination struct {
	node    string
	trigger preemptor.Trigger
}

// nominate notes a nomination.
func (g *game) nominate(e *api.Claimed) {
	g.target[string(e.Key)] = string(e.Node)
	g.nominated[string(e.Key)] = nomination{string(e.Node), e.Plan.Trigger}
	g.note("nominated %s to %s: %s", e.Key, e.Node, e.Reason)
}

// endNomination notes that one has ended. Of an ask that is placed it is known until then.
func (g *game) endNomination(e *api.ClaimEnded) {
	if e.Waits() {
		delete(g.nominated, string(e.Key))
	}
	g.note("not nominated %s: %s", e.Key, e.Reason)
}

// besideKept is what ran at a moment, beside the asks but one for which room is made and kept.
func (g *game) besideKept(o *oracle, but *pod, kept func(p *pod) bool) *oracle {
	s := new(oracle)
	*s = *o
	s.free, s.used, s.limits = maps.Clone(o.free), maps.Clone(o.used), slices.Clone(o.limits)
	for _, key := range g.replaced {
		if node := g.elsewhere[key]; node != "" && g.waits[key] { // it has the quota of the placeholder
			s.free[node] = s.free[node].plus(g.w.pod(key).Amounts, -1)
		}
	}
	for key, nomination := range g.nominated {
		if p := g.w.pod(key); g.waits[key] && p != but && kept(p) {
			s.book(p, nomination.node)
		}
	}
	for _, p := range g.promised(o) {
		if p != but && kept(p) {
			s.book(p, p.Requires)
		}
	}
	return s
}

// promised are the asks with a required node that wait and have, or may have, room on its way there:
// victims were chosen for them, of which none is overdue, or what is being evicted is enough.
func (g *game) promised(o *oracle) (list []*pod) {
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if !g.waits[p.Key] || p.Requires == "" {
			continue
		}
		late, some := false, false
		for _, e := range g.evictions {
			if e.For == p.Key {
				some = true
				late = late || e.Late || !e.Ended && g.now.Sub(start) >= e.At+evictionTimeout
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

func (o *oracle) fitsOnNode(ask *pod, n *node) bool {
	place, ok := o.place(ask, n, preemptor.Priority)
	return ok && o.enough(&place, nil)
}
