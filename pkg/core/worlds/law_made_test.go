package worlds

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// lawPlacement says that an ask runs for which victims have ended, or a more important one does.
const lawPlacement = "a kill means a placement"

func killsAreForNothing(g *game) (list []failure) {
	view := g.p.View()
	for i := range g.w.Pods {
		if ask := &g.w.Pods[i]; g.waits[ask.Key] {
			list = append(list, g.unserved(view, ask)...)
		}
	}
	return list
}

// unserved is the failure to serve an ask for which victims have ended.
func (g *game) unserved(view *api.View, ask *pod) []failure {
	mine := slices.DeleteFunc(slices.Clone(g.evictions), func(e eviction) bool { return e.For != ask.Key })
	changed := slices.ContainsFunc(g.w.Rules, func(r rule) bool {
		needed := g.w.pod(r.Other)
		return r.Pod == ask.Key && r.Verb == "need" && needed != nil && needed.Ends > 0 && g.on[r.Other] == ""
	})
	if changed || slices.ContainsFunc(g.evictions, func(e eviction) bool { return !e.Ended }) {
		return nil
	}
	for _, e := range slices.Backward(mine) {
		if g.changedSince(e.At) || !isSubset(e.With, g.membersWith(ask)) {
			return nil
		}
		f := failure{Law: lawPlacement, Ask: ask.Key, Trigger: e.Trigger}
		f.Cause, f.Detail = g.taken(view, ask, e)
		if f.Cause == "" {
			return nil
		}
		return []failure{f}
	}
	return nil
}

// isSubset reports whether all of some names are among others.
func isSubset(names, of []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(of, name) })
}

// taken says what became of the room that was made for an ask which waits. It is
// empty if a more important ask, or one that requires the node, came later and has that
// room.
func (g *game) taken(view *api.View, ask *pod, e eviction) (cause, detail string) {
	o := &oracle{w: g.w}
	if g.isOutbid(o, ask, e) || g.isKeptAbove(o, view, ask) {
		return "", ""
	}
	cause = "no ask has the room"
	isLate := slices.ContainsFunc(g.evictions, func(other eviction) bool { return other.For == ask.Key && other.Late })
	for i := range g.w.Pods {
		t := &g.w.Pods[i]
		at, ok := g.placed[t.Key]
		above := commonQueue(t.Queue, ask.Queue)
		near := slices.Contains([]string{g.ran[t.Key], g.target[t.Key]}, g.target[ask.Key]) || g.ran[t.Key] == e.Node
		if !ok || at < e.At || !near && above == "" && !o.shareLimit(t, ask) {
			continue
		}
		came := time.Duration(t.At) * time.Second
		important := slices.ContainsFunc(g.w.Pods, func(p pod) bool { // than one that starts with the ask: all lose their room together
			above := commonQueue(t.Queue, p.Queue)
			with := p.Key == ask.Key || p.Quorum != "" && p.Quorum == ask.Quorum && g.waits[p.Key]
			return with && o.priority(t, above) > o.priority(&p, above)
		})
		switch {
		case important: // room is kept from asks that are not more important only
			return "", ""
		case came > e.At && t.Requires != "": // it may have ended since
			return "", ""
		case isLate && ask.Requires == "": // nothing is kept any more
			return "", ""
		case g.backed[ask.Key], t.Quorum != "" && t.Quorum == ask.Quorum:
			return "", ""
		case g.on[t.Key] == "":
		case g.answersChange(t, ask, e.Victim):
			return "", ""
		case t.Requires != "" && ask.Requires == "":
			cause, detail = "an ask with a required node has the room", t.Key
		case detail == "":
			cause, detail = "an ask that is not more important has the room", t.Key
		}
	}
	ruled := slices.ContainsFunc(g.w.Rules, func(r rule) bool { return r.Pod == ask.Key || r.Other == ask.Key })
	switch kept := g.kept(view, g.target[ask.Key], ask); {
	case detail != "" && cause != "an ask that is not more important has the room":
		return cause, detail
	case ruled:
		return "the resource manager refuses", detail
	case detail == "" && kept != "":
		return kept, ""
	}
	return cause, detail
}

// isKeptAbove reports whether a more important ask has a claim on the node that room was made on.
func (g *game) isKeptAbove(o *oracle, view *api.View, ask *pod) bool {
	return slices.ContainsFunc(view.Nodes, func(n *api.NodeView) bool {
		return string(n.ID) == g.target[ask.Key] && slices.ContainsFunc(n.Reservations, func(r api.Reservation) bool {
			return o.outranks(g.w.pod(string(r.Key)), ask)
		})
	})
}

// isOutbid reports whether an ask came after the victims of another one were chosen, requires the
// node, and is of at least its priority: docs/preemption.md gives it the room of an ordinary ask.
func (g *game) isOutbid(o *oracle, ask *pod, e eviction) bool {
	return ask.Requires == "" && slices.ContainsFunc(g.w.Pods, func(t pod) bool {
		node := g.target[ask.Key]
		above := commonQueue(t.Queue, ask.Queue)
		return t.Requires == node && g.came[t.Key] && time.Duration(t.At)*time.Second > e.At && t.Amounts.fits(g.w.node(node).Capacity) &&
			o.priority(&t, above) >= o.priority(ask, above)
	})
}

// answersChange reports whether the resource manager says something else of an ask now that a
// victim has ended, or that the ask for which it ended has another one beside it: then the law
// does not hold.
func (g *game) answersChange(placed, ask *pod, victim string) bool {
	return slices.ContainsFunc(g.w.Rules, func(r rule) bool {
		of := func(key string) bool { return r.Pod == key || r.Other == key }
		return r.Verb == "conflict" && of(placed.Key) && (of(ask.Key) || of(victim))
	})
}

func triggersOf(ask *pod) []preemptor.Trigger {
	if ask.Requires != "" {
		return []preemptor.Trigger{preemptor.RequiredNode}
	}
	return []preemptor.Trigger{preemptor.Priority, preemptor.Guarantee}
}
