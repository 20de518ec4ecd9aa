package worlds

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// lawPriority says that an ask never waits beside free room that is kept for less important ones,
// or for none at all. Room for which evictions are on their way is not free. What the resource manager
// changes without a word counts from when it is asked again.
const lawPriority = "priority is never upside down"

func nothingIsPassed(g *game) (list []failure) {
	view, o := g.p.View(), g.oracle()
	seen, beside := map[pod]bool{}, map[string]time.Duration{}
	for i := range g.w.Pods {
		ask := &g.w.Pods[i]
		if g.waits[ask.Key] {
			g.seeWaiting(o, ask)
		}
		if !g.waits[ask.Key] || g.isPaced() || g.held(ask) != "" || g.mayWaitForPlace(ask) || g.backsOff(ask) || g.isRuled(ask) || g.isUnheard(ask) || g.fails[ask.Key] {
			continue
		}
		like := *ask
		like.Key, like.At, like.Age, like.Ends, like.Runs = "", 0, 0, 0, 0
		if seen[like] || o.fitsAnywhere(ask) == "" {
			continue
		}
		seen[like] = true
		s := g.besideMade(o, view, ask)
		for _, n := range view.Nodes {
			if !s.fitsOnNode(ask, g.w.node(string(n.ID))) {
				continue
			}
			owners := slices.DeleteFunc(slices.Clone(n.Reservations), func(r api.Reservation) bool { return string(r.Key) == ask.Key })
			if slices.ContainsFunc(owners, func(r api.Reservation) bool { return !o.outranks(ask, g.w.pod(string(r.Key))) }) {
				continue
			}
			cause := "it waits beside room that is kept for a less important ask"
			if len(owners) == 0 {
				cause = "it waits beside free room"
			}
			beside[ask.Key] = cmp.Or(g.beside[ask.Key], g.now.Sub(start))
			if g.now.Sub(start)-beside[ask.Key] < inTurn {
				break
			}
			list = append(list, failure{Ask: ask.Key, Trigger: triggersOf(ask)[0], Cause: cause, Detail: string(n.ID) + ", " + reasonOf(view, ask.Key)})
			break
		}
	}
	g.beside = beside
	return list
}

// inTurn is within what time room that is free again is given to an ask.
const inTurn = 60 * time.Second

// outranks reports whether an ask is more important than another one as the root sees them.
func (o *oracle) outranks(ask, other *pod) bool { return o.priority(ask, "") > o.priority(other, "") }

// isPaced reports whether questions may be held back.
func (g *game) isPaced() bool { return g.w.Paced && len(g.w.Rules)+len(g.allowed) > 0 }

// isUnheard reports whether the resource manager changed an answer about a pod so lately, and without
// a word, that it may not have been asked again: it is not while room is made for the pod.
func (g *game) isUnheard(p *pod) bool {
	at, changed := g.allowed[p.Key]
	return changed && (g.now.Sub(at) < inTurn || slices.ContainsFunc(g.evictions, func(e eviction) bool {
		return e.For == p.Key && !e.Ended && g.now.Sub(start) < e.At+evictionTimeout
	}))
}

// isRuled reports whether the resource manager has something to say of a pod.
func (g *game) isRuled(p *pod) bool {
	return slices.ContainsFunc(g.w.Rules, func(r rule) bool { return r.Pod == p.Key || r.Other == p.Key })
}

// besideMade is what runs now, beside all asks but one for which room is being made. What is
// evicted still runs. Quota is kept by claims of asks that are at least as important, too.
func (g *game) besideMade(o *oracle, view *api.View, but *pod) *oracle {
	s := g.besideKept(o, but, func(*pod) bool { return true })
	for _, n := range view.Nodes {
		for _, r := range n.Reservations {
			p := g.w.pod(string(r.Key))
			if p == nil || p == but || o.outranks(but, p) || g.nominated[p.Key].node != "" || p.Requires != "" {
				continue
			}
			s.charge(p)
		}
	}
	return s
}

// isOutranked reports whether a more important ask waits.
func (g *game) isOutranked(p *pod) bool {
	o := &oracle{w: g.w}
	return slices.ContainsFunc(g.w.Pods, func(ask pod) bool { return g.waits[ask.Key] && o.outranks(&ask, p) })
}

// passedBy notes more important asks which fitted before an ask was placed, beside what is kept
// for asks that are as important as they are, and do not fit any more.
func (g *game) passedBy(before *oracle, placed *pod) {
	after := g.oracle()
	for i := range g.w.Pods {
		ask := &g.w.Pods[i]
		if !g.waits[ask.Key] || !after.outranks(ask, placed) || placed.Requires != "" && ask.Requires == "" || g.isPaced() || g.isRuled(ask) || g.isUnheard(ask) || g.held(ask) != "" || g.mayWaitForPlace(ask) || g.backsOff(ask) || g.fails[ask.Key] {
			continue
		}
		kept := func(p *pod) bool { return p != placed && !after.outranks(ask, p) }
		node := g.besideKept(before, ask, kept).fitsAnywhere(ask)
		if node == "" || g.besideKept(after, ask, kept).fitsAnywhere(ask) != "" || g.kept(g.p.View(), node, ask) != "" {
			continue
		}
		f := failure{Law: lawPriority, Ask: ask.Key, Trigger: triggersOf(ask)[0], Cause: "a less important ask is placed first", Detail: placed.Key}
		if placed.Requires != "" {
			f.Cause = "a less important ask that requires a node is placed first"
		}
		g.breaks(f)
	}
}

// fitsAnywhere is the first node on which an ask fits, or nothing.
func (o *oracle) fitsAnywhere(ask *pod) string {
	for i := range o.w.Nodes {
		if n := &o.w.Nodes[i]; o.fitsOnNode(ask, n) {
			return n.Name
		}
	}
	return ""
}

// reasonOf is why an ask waits, as a view says.
func reasonOf(view *api.View, key string) string {
	for _, app := range view.Applications {
		for _, a := range app.Asks {
			if string(a.Key) == key && a.Waiting != nil {
				return fmt.Sprintf("it waits: %s %s, keeps %q, room on %q", a.Reason, a.Detail, a.Reserved, a.Nominated)
			}
		}
	}
	return "it does not wait"
}
