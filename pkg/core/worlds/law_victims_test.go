package worlds

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// lawVictim says that nothing is evicted which docs/preemption.md protects.
const lawVictim = "victims are lawful"

func victimsAreLawful(g *game) []failure {
	e, unlawful := g.evicted, g.unlawful
	if e.Trigger == preemptor.Quota {
		unlawful = g.unlawfulForQuota
	}
	if cause := unlawful(*e); cause != "" {
		return []failure{{Ask: e.For, Trigger: e.Trigger, Cause: cause, Detail: e.Victim}}
	}
	return nil
}

// unlawful says why a pod must not be evicted, or nothing. It is asked in the order of
// the evictions, and counts those before.
func (g *game) unlawful(e eviction) string {
	o, v, ask := g.oracle(), g.w.pod(e.Victim), g.w.pod(e.For)
	above := commonQueue(v.Queue, ask.Queue)
	mine, its := o.priority(ask, above), o.priority(v, above)
	switch {
	case v.Required || v.Requires != "" || v.Foreign == api.Static || v.Foreign == api.Foreign && (e.Trigger != preemptor.RequiredNode || g.w.KeepsForeign):
		return "never a victim"
	case v.Foreign == api.Foreign && o.fence(ask.Queue) != "":
		return "outside of the fence"
	case ask.Polite:
		return "the ask preempts nothing"
	case o.limited(ask):
		return "a limit holds the ask back"
	case g.makesNoRoom(ask) != "":
		return g.makesNoRoom(ask)
	case v.Quorum != "" && v.Quorum == ask.Quorum:
		return "of the quorum of the ask"
	case g.isReplaced(e.Victim):
		return "it is being replaced"
	case v.Foreign == api.Own && o.isProtected(v.Queue):
		return "protected by its queue"
	case e.Trigger == preemptor.RequiredNode && v.Priority > ask.Priority && its > mine, v.Foreign == api.Foreign && its >= mine:
		return "more important"
	case e.Trigger == preemptor.RequiredNode:
		return g.overBudget(o, v)
	case !within(v.Queue, o.fence(ask.Queue)):
		return "outside of the fence"
	case e.Trigger == preemptor.Guarantee && v.Queue == ask.Queue:
		return "in the queue of the ask"
	case its > mine || e.Trigger == preemptor.Priority && its == mine && (g.w.Priority == api.StrictlyLower || o.settled[v.Key]):
		return "more important"
	}
	for _, q := range pathOf(v.Queue) {
		for k, breaks := range o.breaks(q, []*pod{v}) {
			if breaks && v.Amounts[k] > 0 && !within(ask.Queue, q) {
				overdue := slices.ContainsFunc(g.evictions, func(e eviction) bool { return !e.Ended && e.At < g.now.Sub(start) })
				return "a guarantee is broken" + when(overdue, ", an eviction does not end")
			}
		}
	}
	return g.overBudget(o, v)
}

func (g *game) overBudget(o *oracle, v *pod) string {
	for _, b := range g.w.Budgets {
		if slices.Contains(b.Members, v.Key) && !o.keepsBudget(b, []*pod{v}) {
			return "a hard budget is broken"
		}
	}
	return ""
}
