package worlds

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// lawFeasible says that at rest nothing waits that fits somewhere within quota, limits and what the
// resource manager answers, or may lawfully make room there. Every set of victims is tried.
const lawFeasible = "feasible means done"

const keptForRequired = "the node is kept for an ask that requires it"

func triesEverything(g *game) []failure {
	o, view := g.oracle(), g.p.View()
	list := append(g.stayBeyond(o), g.quorumFits()...)
	for i := range g.w.Pods {
		if ask := &g.w.Pods[i]; g.waits[ask.Key] {
			if f, ok := g.feasible(o, view, ask); ok {
				list = append(list, f)
			}
		}
	}
	return list
}

// nudged sends every node again, which is a change. What helps an ask then was not
// tried when it became possible.
func (g *game) nudged(list []failure) []failure {
	open := func(f failure) bool { return f.Law == lawFeasible }
	if !slices.ContainsFunc(list, open) {
		return list
	}
	told := len(g.evictions)
	g.note("every node is sent again")
	for _, n := range g.w.Nodes {
		if !n.Gone {
			g.apply(api.UpdateNode{ID: api.NodeID(n.Name), Capacity: n.Capacity.amounts()})
		}
	}
	g.schedule()
	for i := range list {
		helped := slices.ContainsFunc(g.evictions[told:], func(e eviction) bool { return e.For == list[i].Ask })
		if open(list[i]) && (helped || !g.waits[list[i].Ask]) {
			list[i].Cause = "it is not tried again"
		}
	}
	return list
}

// kept says for which other ask a node is kept, or nothing.
func (g *game) kept(view *api.View, node string, ask *pod) (cause string) {
	for _, n := range view.Nodes {
		for _, r := range n.Reservations {
			switch {
			case string(n.ID) != node || string(r.Key) == ask.Key:
			case r.Required:
				return keptForRequired
			default:
				cause = "the node is kept for an ordinary ask"
			}
		}
	}
	return cause
}

// feasible is the failure to make room for an ask that waits at the end.
func (g *game) feasible(o *oracle, view *api.View, ask *pod) (f failure, ok bool) {
	if g.held(ask) != "" || g.mayWaitForPlace(ask) {
		return f, false
	}
	for _, t := range triggersOf(ask) {
		for i := range g.w.Nodes {
			place, possible := o.place(ask, &g.w.Nodes[i], t)
			if !possible || g.keptFor(view, o, &place) || g.hangs(place.node) {
				continue
			}
			victims, found := o.victims(&place)
			if !found || len(victims) > 0 && (ask.Polite || len(g.allowed) > 0 || ask.Quorum != "") { // an answer about removals holds until its node changes
				continue
			}
			f = failure{Ask: ask.Key, Trigger: t, Detail: "on " + place.node + ": " + keysOf(victims)}
			f.Cause = "lawful victims stay"
			if len(victims) == 0 {
				f.Cause = "it fits, and " + cmp.Or(g.kept(view, place.node, ask), "the node is open")
			}
			return f, true
		}
	}
	return f, false
}

// hangs reports whether an eviction on a node does not end.
func (g *game) hangs(node string) bool {
	return slices.ContainsFunc(g.evictions, func(e eviction) bool { return !e.Ended && e.Node == node })
}

// keptFor reports whether a more important ordinary ask reserves the node.
func (g *game) keptFor(view *api.View, o *oracle, p *place) bool {
	for _, n := range view.Nodes {
		for _, r := range n.Reservations {
			other := g.w.pod(string(r.Key))
			if string(n.ID) == p.node && !r.Required && other != p.ask && o.priority(other, "") >= o.priority(p.ask, "") {
				return true
			}
		}
	}
	return false
}
