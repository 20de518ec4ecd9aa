package core_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// The laws.
const (
	lawPlacement = "a kill means a placement"
	lawFeasible  = "feasible means done"
	lawRoom      = "what fits runs"
	lawVictim    = "victims are lawful"
	lawRest      = "a world comes to rest"
	lawBooks     = "the books agree"
)

const keptForRequired = "the node is kept for an ask that requires it"

// A tortureFailure is a broken law.
type tortureFailure struct {
	Law     string
	Ask     string
	Trigger preemptor.Trigger
	Cause   string
	Detail  string
}

// class is what the list of known failures goes by.
func (f tortureFailure) class() string {
	if f.Law == lawRest || f.Law == lawBooks {
		return f.Law
	}
	return fmt.Sprintf("%s/%v/%s", f.Law, f.Trigger, f.Cause)
}

// tortureFailures plays a world and returns the laws that it breaks.
func tortureFailures(w *tortureWorld, lie tortureLie) (list []tortureFailure, g *tortureGame) {
	g, rests := playTorture(w, lie)
	list = g.broken
	if err := g.p.Verify(); err != nil {
		list = append(list, tortureFailure{Law: lawBooks, Detail: err.Error()})
	}
	if !rests {
		return append(list, tortureFailure{Law: lawRest}), g
	}
	o, view := g.oracle(), g.p.View()
	for i := range w.Pods {
		if ask := &w.Pods[i]; g.waits[ask.Key] {
			list = append(list, g.unserved(view, ask)...)
			if f, ok := g.feasible(o, view, ask); ok {
				list = append(list, f)
			}
		}
	}
	return g.nudged(list), g
}

// nudged sends every node again, which is a change. What helps an ask then was not
// tried when it became possible.
func (g *tortureGame) nudged(list []tortureFailure) []tortureFailure {
	open := func(f tortureFailure) bool { return f.Law == lawFeasible || f.Law == lawRoom }
	if !slices.ContainsFunc(list, open) {
		return list
	}
	told := len(g.evictions)
	g.note("every node is sent again")
	for _, n := range g.w.Nodes {
		g.apply(core.UpdateNode{ID: core.NodeID(n.Name), Capacity: n.Capacity.amounts()})
	}
	g.schedule()
	for i := range list {
		helped := slices.ContainsFunc(g.evictions[told:], func(e tortureEviction) bool { return e.For == list[i].Ask })
		if open(list[i]) && (helped || !g.waits[list[i].Ask]) {
			list[i].Cause = "it is not tried again"
		}
	}
	return list
}

// unserved is the failure to serve an ask for which victims have ended.
func (g *tortureGame) unserved(view *core.View, ask *torturePod) []tortureFailure {
	for _, e := range slices.Backward(g.evictions) {
		if e.For != ask.Key {
			continue
		}
		f := tortureFailure{Law: lawPlacement, Ask: ask.Key, Trigger: e.Trigger}
		f.Cause, f.Detail = g.taken(view, ask, e)
		if f.Cause == "" {
			return nil
		}
		return []tortureFailure{f}
	}
	return nil
}

// taken says what became of the room that was made for an ask which waits. It is
// empty if a more important ask, or one that requires the node, came later and has that
// room.
func (g *tortureGame) taken(view *core.View, ask *torturePod, e tortureEviction) (cause, detail string) {
	o := &tortureOracle{w: g.w}
	cause = "no ask has the room"
	for i := range g.w.Pods {
		t := &g.w.Pods[i]
		at, ok := g.placed[t.Key]
		above := tortureCommon(t.Queue, ask.Queue)
		if !ok || at < e.At || g.on[t.Key] != g.target[ask.Key] && g.on[t.Key] != e.Node && above == "" {
			continue
		}
		came := time.Duration(t.At) * time.Second
		important := o.priority(t, above) > o.priority(ask, above)
		switch {
		case came > e.At && (important || t.Requires != ""):
			return "", ""
		case t.Requires != "" && (important || ask.Requires == ""):
			cause, detail = "an ask with a required node has the room", t.Key
		case important && e.Before.canMake(t):
			cause, detail = "a more important ask is tried too late", t.Key
		case important:
			cause, detail = "a more important ask has the room, for which none could be made", t.Key
		case detail == "":
			cause, detail = "an ask that is not more important has the room", t.Key
		}
	}
	ruled := slices.ContainsFunc(g.w.Rules, func(r tortureRule) bool { return r.Pod == ask.Key || r.Other == ask.Key })
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

// canMake reports whether room could be made for an ask of its own.
func (o *tortureOracle) canMake(ask *torturePod) bool {
	if ask.Polite {
		return false
	}
	for _, t := range tortureTriggers(ask) {
		for i := range o.w.Nodes {
			if place, ok := o.place(ask, &o.w.Nodes[i], t); ok {
				if _, found := o.victims(&place); found {
					return true
				}
			}
		}
	}
	return false
}

func tortureTriggers(ask *torturePod) []preemptor.Trigger {
	if ask.Requires != "" {
		return []preemptor.Trigger{preemptor.RequiredNode}
	}
	return []preemptor.Trigger{preemptor.Priority, preemptor.Guarantee}
}

// kept says for which other ask a node is kept, or nothing.
func (g *tortureGame) kept(view *core.View, node string, ask *torturePod) (cause string) {
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
func (g *tortureGame) feasible(o *tortureOracle, view *core.View, ask *torturePod) (f tortureFailure, ok bool) {
	for _, t := range tortureTriggers(ask) {
		for i := range g.w.Nodes {
			place, possible := o.place(ask, &g.w.Nodes[i], t)
			if !possible || g.keptFor(view, o, &place) {
				continue
			}
			victims, found := o.victims(&place)
			if !found || len(victims) > 0 && ask.Polite {
				continue
			}
			f = tortureFailure{Law: lawFeasible, Ask: ask.Key, Trigger: t, Detail: "on " + place.node + ": " + tortureKeys(victims)}
			if len(victims) == 0 {
				f.Law = lawRoom
			}
			f.Cause = g.cause(view, o, &place)
			return f, true
		}
	}
	return f, false
}

// keptFor reports whether a more important ordinary ask reserves the node.
func (g *tortureGame) keptFor(view *core.View, o *tortureOracle, p *torturePlace) bool {
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

// cause is what a failure to make room has to do with: the first that applies.
func (g *tortureGame) cause(view *core.View, o *tortureOracle, p *torturePlace) string {
	kept := g.kept(view, p.node, p.ask)
	for k := range p.lacking {
		if p.lacking[k] && p.trigger == preemptor.Guarantee && !o.configured(k) {
			return "a kind that is configured nowhere is short"
		}
	}
	switch {
	case slices.ContainsFunc(p.never, func(v *torturePod) bool { return o.important(p, v) }):
		return "it needs a candidate beside it"
	case len(p.must) > 0 && p.trigger == preemptor.RequiredNode:
		return "a victim conflicts with an ask that requires the node"
	case kept == keptForRequired || kept != "" && !o.guards(p):
		return kept
	}
	list := []string{"plain"}
	for _, x := range []struct {
		text  string
		holds bool
	}{
		{"guarantees are kept", o.guards(p)},
		{"quota is short", len(p.quota) > 0},
		{"a victim conflicts", len(p.must) > 0},
		{"budgets are hard", len(g.w.Budgets) > 0 && g.w.Policy == preemptor.HardBudgets},
	} {
		if x.holds {
			list = append(list, x.text)
		}
	}
	return strings.Join(list[min(1, len(list)-1):], ", ")
}

// important reports whether the ask is at least as important as a pod.
func (o *tortureOracle) important(p *torturePlace, v *torturePod) bool {
	above := tortureCommon(v.Queue, p.ask.Queue)
	return v.Foreign == core.Own && o.priority(v, above) <= o.priority(p.ask, above)
}

// guards reports whether a guarantee protects anything that the ask could take.
func (o *tortureOracle) guards(p *torturePlace) bool {
	return slices.ContainsFunc(o.running, func(v *torturePod) bool {
		return o.candidate(p, v) && slices.ContainsFunc(torturePath(v.Queue), func(q string) bool {
			return o.w.queue(q).Guaranteed != (tortureAmounts{}) && !tortureWithin(p.ask.Queue, q)
		})
	})
}

// unlawful says why a pod must not be evicted, or nothing. It is asked in the order of
// the evictions, and counts those before.
func (g *tortureGame) unlawful(e tortureEviction) string {
	o, v, ask := g.oracle(), g.w.pod(e.Victim), g.w.pod(e.For)
	above := tortureCommon(v.Queue, ask.Queue)
	mine, its := o.priority(ask, above), o.priority(v, above)
	switch {
	case v.Required || v.Requires != "" || v.Foreign == core.Static || v.Foreign == core.Foreign && e.Trigger != preemptor.RequiredNode:
		return "never a victim"
	case ask.Polite:
		return "the ask preempts nothing"
	case v.Foreign == core.Own && o.excluded(v.Queue):
		return "protected by its queue"
	case e.Trigger == preemptor.RequiredNode:
		return tortureIf(v.Priority > ask.Priority && its > mine, "more important")
	case !tortureWithin(v.Queue, o.fence(ask.Queue)):
		return "outside of the fence"
	case e.Trigger == preemptor.Guarantee && v.Queue == ask.Queue:
		return "in the queue of the ask"
	case its > mine || e.Trigger == preemptor.Priority && its == mine && g.w.Priority == core.StrictlyLower:
		return "more important"
	}
	for _, q := range torturePath(v.Queue) {
		for k, breaks := range o.breaks(q, append(g.leaving(), v)) {
			if breaks && v.Amounts[k] > 0 && !tortureWithin(ask.Queue, q) {
				return "a guarantee is broken"
			}
		}
	}
	for _, b := range g.w.Budgets {
		if slices.Contains(b.Members, v.Key) && !o.keepsBudget(b, append(g.leaving(), v)) {
			return "a hard budget is broken"
		}
	}
	return ""
}

// leaving are the pods that are being evicted.
func (g *tortureGame) leaving() (list []*torturePod) {
	for _, e := range g.evictions {
		if !e.Ended {
			list = append(list, g.w.pod(e.Victim))
		}
	}
	return list
}
