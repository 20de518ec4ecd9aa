package core_test

import (
	"cmp"
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
	lawNecessary = "every victim is necessary"
	lawLeast     = "victims are of the least class and priority"
	lawOrder     = "the more important ask is placed first"
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
		return f.Law + "/" + f.Cause
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
		cause := tortureIf(w.Priority == core.EqualToo, "among equal priorities") + tortureIf(w.Priority != core.EqualToo, "in order of priority")
		return append(list, tortureFailure{Law: lawRest, Cause: cause}), g
	}
	o, view := g.oracle(), g.p.View()
	list = append(list, g.plans()...)
	list = append(list, g.needless()...)
	list = append(list, g.stayBeyond(o)...)
	list = append(list, g.quorumFits()...)
	for i := range g.w.Pods {
		if ask := &g.w.Pods[i]; g.waits[ask.Key] {
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
	mine := slices.DeleteFunc(slices.Clone(g.evictions), func(e tortureEviction) bool { return e.For != ask.Key })
	changed := slices.ContainsFunc(g.w.Rules, func(r tortureRule) bool {
		needed := g.w.pod(r.Other)
		return r.Pod == ask.Key && r.Verb == "need" && needed != nil && needed.Ends > 0 && g.on[r.Other] == ""
	})
	if changed || slices.ContainsFunc(g.evictions, func(e tortureEviction) bool { return !e.Ended }) {
		return nil
	}
	for _, e := range slices.Backward(mine) {
		if g.reconfigured(e.At) {
			return nil
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
	if g.isOutbid(o, ask, e) {
		return "", ""
	}
	cause = "no ask has the room"
	for i := range g.w.Pods {
		t := &g.w.Pods[i]
		at, ok := g.placed[t.Key]
		above := tortureCommon(t.Queue, ask.Queue)
		if !ok || at < e.At || g.ran[t.Key] != g.target[ask.Key] && g.ran[t.Key] != e.Node && above == "" && !o.shareLimit(t, ask) {
			continue
		}
		came := time.Duration(t.At) * time.Second
		important := o.priority(t, above) > o.priority(ask, above)
		switch {
		case came > e.At && (important || t.Requires != ""): // it may have ended since
			return "", ""
		case e.Late && t.Requires != "" && ask.Requires == "": // nothing is kept any more
			return "", ""
		case g.backed[ask.Key]:
			return "", ""
		case g.on[t.Key] == "":
		case g.answersChange(t, ask, e.Victim):
			return "", ""
		case t.Requires != "" && (important || ask.Requires == ""):
			cause, detail = "an ask with a required node has the room", t.Key
		case important && g.hasVictims(t):
			cause, detail = "a more important ask for which room was made too has the room", t.Key
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

// isOutbid reports whether an ask came after the victims of another one were chosen, requires the
// node, and is of at least its priority: docs/preemption.md gives it the room of an ordinary ask.
func (g *tortureGame) isOutbid(o *tortureOracle, ask *torturePod, e tortureEviction) bool {
	return ask.Requires == "" && slices.ContainsFunc(g.w.Pods, func(t torturePod) bool {
		node := g.target[ask.Key]
		above := tortureCommon(t.Queue, ask.Queue)
		return t.Requires == node && g.came[t.Key] && time.Duration(t.At)*time.Second > e.At && t.Amounts.fits(g.w.node(node).Capacity) &&
			o.priority(&t, above) >= o.priority(ask, above)
	})
}

// answersChange reports whether the resource manager says something else of an ask now that a
// victim has ended, or that the ask for which it ended has another one beside it: then the law
// does not hold.
func (g *tortureGame) answersChange(placed, ask *torturePod, victim string) bool {
	return slices.ContainsFunc(g.w.Rules, func(r tortureRule) bool {
		of := func(key string) bool { return r.Pod == key || r.Other == key }
		return r.Verb == "conflict" && of(placed.Key) && (of(ask.Key) || of(victim))
	})
}

func (g *tortureGame) hasVictims(ask *torturePod) bool {
	return slices.ContainsFunc(g.evictions, func(e tortureEviction) bool { return e.For == ask.Key })
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
	if g.held(ask) != "" || g.mayWaitForPlace(ask) {
		return f, false
	}
	for _, t := range tortureTriggers(ask) {
		for i := range g.w.Nodes {
			place, possible := o.place(ask, &g.w.Nodes[i], t)
			if !possible || g.keptFor(view, o, &place) || g.hangs(place.node) {
				continue
			}
			victims, found := o.victims(&place)
			if !found || len(victims) > 0 && ask.Polite {
				continue
			}
			f = tortureFailure{Law: lawFeasible, Ask: ask.Key, Trigger: t, Detail: "on " + place.node + ": " + tortureKeys(victims)}
			f.Cause = g.cause(view, o, &place)
			if len(victims) == 0 {
				f.Law, f.Cause = lawRoom, cmp.Or(g.kept(view, place.node, ask), "the node is open")
			}
			return f, true
		}
	}
	return f, false
}

// hangs reports whether an eviction on a node does not end.
func (g *tortureGame) hangs(node string) bool {
	return slices.ContainsFunc(g.evictions, func(e tortureEviction) bool { return !e.Ended && e.Node == node })
}

// plans looks at the victims of each plan, in worlds with one ask: room that is kept for
// others is not known here.
func (g *tortureGame) plans() (list []tortureFailure) {
	asks := 0
	for i := range g.w.Pods {
		if g.w.Pods[i].Node == "" {
			asks++
		}
	}
	plans := map[time.Duration][]*torturePod{}
	for _, e := range g.evictions {
		plans[e.At] = append(plans[e.At], g.w.pod(e.Victim))
	}
	for i, e := range g.evictions {
		if e.Trigger == preemptor.Quota || g.reconfigured(e.At) || asks > 1 || i > 0 && g.evictions[i-1].At == e.At || len(e.Before.leaving()) > 0 {
			continue
		}
		victims := plans[e.At]
		place, _ := e.Before.place(g.w.pod(e.For), g.w.node(g.target[e.For]), e.Trigger)
		for j, v := range victims {
			if e.Before.enough(&place, slices.Delete(slices.Clone(victims), j, j+1)) {
				list = append(list, tortureFailure{Law: lawNecessary, Ask: e.For, Trigger: e.Trigger, Cause: "one ask", Detail: v.Key})
			}
		}
		if cause := e.Before.worse(place, victims); cause != "" {
			list = append(list, tortureFailure{Law: lawLeast, Ask: e.For, Trigger: e.Trigger, Cause: cause, Detail: tortureKeys(victims)})
		}
	}
	return list
}

// worse says whether victims of a lower class, or then of a lower priority, would have
// been enough on the same node, for the triggers by which class comes first.
func (o *tortureOracle) worse(p torturePlace, victims []*torturePod) string {
	scaled := slices.ContainsFunc(o.w.Queues, func(q tortureQueue) bool { return q.Fence || q.Offset != 0 })
	if p.trigger == preemptor.Priority || scaled || len(o.w.Budgets) > 0 {
		return ""
	}
	// For a required node docs/preemption.md compares first how many victims leave a queue
	// with less than is guaranteed to it: where none of these does, none of the others may.
	if p.guards = p.trigger == preemptor.RequiredNode; p.guards && !o.keeps(&p, victims) {
		return ""
	}
	class, priority := preemptor.Regular, 0
	for _, v := range victims {
		class, priority = max(class, v.class()), max(priority, v.Priority)
	}
	p.within = func(v *torturePod) bool { return v.class() < class }
	if _, found := o.victims(&p); found {
		return "a lower class is enough"
	}
	p.within = func(v *torturePod) bool { return v.class() <= class && v.Priority < priority }
	_, found := o.victims(&p)
	return tortureIf(found, "a lower priority of the same class is enough")
}

// passedOver notes more important asks which fitted before an ask was placed, beside what is
// kept from them for others that are nominated, and do not fit any more.
func (g *tortureGame) passedOver(before *tortureOracle, placed *torturePod) {
	after := g.oracle()
	for i := range g.w.Pods {
		y := &g.w.Pods[i]
		ruled := slices.ContainsFunc(g.w.Rules, func(r tortureRule) bool { return r.Pod == y.Key || r.Other == y.Key })
		if !g.waits[y.Key] || ruled || g.held(y) != "" || g.mayWaitForPlace(y) || g.backsOff(y) || g.keepsFrom(placed, y) || placed.Requires != "" && y.Requires == "" || after.compare(y, placed) <= 0 {
			continue
		}
		then, now := g.settled(before, y, placed), g.settled(after, y, placed)
		node := g.unsettled(before, y, placed).fitsOnBoth(then, y)
		if node == "" || g.unsettled(after, y, placed).fitsOnBoth(now, y) != "" || g.goesOn(y, placed, now) || g.kept(g.p.View(), node, y) != "" {
			continue
		}
		f := tortureFailure{Law: lawOrder, Ask: y.Key, Trigger: tortureTriggers(y)[0], Cause: "by an ordinary ask", Detail: placed.Key}
		if placed.Requires != "" {
			f.Cause = "by an ask that requires a node"
		}
		g.broken = append(g.broken, f)
	}
}

// keepsFrom reports whether what was evicted for an ask is kept from another one, as
// docs/preemption.md says of nominations: if a guarantee was the reason, or if that other
// one, or one as important that could use the room, waited already when the room was made.
func (g *tortureGame) keepsFrom(ask, other *torturePod) bool {
	return slices.ContainsFunc(g.evictions, func(e tortureEviction) bool {
		if e.For != ask.Key || e.Trigger == preemptor.Guarantee {
			return e.For == ask.Key
		}
		return slices.ContainsFunc(e.Waited, func(p *torturePod) bool {
			node := g.w.node(g.target[ask.Key])
			return p.Key == other.Key || p.Amounts.fits(node.Capacity) && e.Before.compare(p, other) >= 0
		})
	})
}

func (p *torturePod) class() preemptor.Class {
	switch {
	case p.OptedOut:
		return preemptor.OptedOut
	case p.Foreign != core.Own:
		return preemptor.Foreign
	case p.Owner:
		return preemptor.Owner
	}
	return preemptor.Regular
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
	case len(p.quota) > 0 && p.trigger == preemptor.RequiredNode:
		return "victims hold the quota of an ask that requires the node"
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
	case v.Required || v.Requires != "" || v.Foreign == core.Static || v.Foreign == core.Foreign && (e.Trigger != preemptor.RequiredNode || g.w.KeepsForeign):
		return "never a victim"
	case v.Foreign == core.Foreign && o.fence(ask.Queue) != "":
		return "outside of the fence"
	case ask.Polite:
		return "the ask preempts nothing"
	case o.limited(ask):
		return "a limit holds the ask back"
	case g.makesNoRoom(ask) != "":
		return g.makesNoRoom(ask)
	case g.isReplaced(e.Victim):
		return "it is being replaced"
	case v.Foreign == core.Own && o.isProtected(v.Queue):
		return "protected by its queue"
	case e.Trigger == preemptor.RequiredNode && v.Priority > ask.Priority && its > mine:
		return "more important"
	case e.Trigger == preemptor.RequiredNode:
		return g.overBudget(o, v)
	case !tortureWithin(v.Queue, o.fence(ask.Queue)):
		return "outside of the fence"
	case e.Trigger == preemptor.Guarantee && v.Queue == ask.Queue:
		return "in the queue of the ask"
	case its > mine || e.Trigger == preemptor.Priority && its == mine && (g.w.Priority == core.StrictlyLower || o.settled[v.Key]):
		return "more important"
	}
	for _, q := range torturePath(v.Queue) {
		for k, breaks := range o.breaks(q, []*torturePod{v}) {
			if breaks && v.Amounts[k] > 0 && !tortureWithin(ask.Queue, q) {
				overdue := slices.ContainsFunc(g.evictions, func(e tortureEviction) bool { return !e.Ended && e.At < g.now.Sub(tortureStart) })
				return "a guarantee is broken" + tortureIf(overdue, ", an eviction does not end")
			}
		}
	}
	return g.overBudget(o, v)
}

func (g *tortureGame) overBudget(o *tortureOracle, v *torturePod) string {
	for _, b := range g.w.Budgets {
		if slices.Contains(b.Members, v.Key) && !o.keepsBudget(b, []*torturePod{v}) {
			return "a hard budget is broken"
		}
	}
	return ""
}
