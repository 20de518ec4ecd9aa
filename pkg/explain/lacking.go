package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/guarantee"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Lack is what an ask asks for that is guaranteed to its queues and not used there.
type Lack struct {
	Queues []QueueLack // from the leaf up; none if there is no such kind
	// NoEviction is why nothing is evicted by guarantee for the ask, in words; empty if room is
	// made for it, or if that is not known.
	NoEviction string
}

// A QueueLack is what asks of a queue wait for that is guaranteed to it and not used, of the
// kinds that one of them asks for.
type QueueLack struct {
	Queue   api.QueuePath
	Lacking resources.Amounts
}

// lackOf is what an ask of a leaf lacks of guarantees. That of the root counts for nothing. Asked is what starts together with it.
func lackOf(view *api.View, kinds *resources.Kinds, ask *api.AskView, leaf api.QueuePath, asked resources.Amounts) (l Lack) {
	var way []*api.QueueView
	for q := view.Root.Towards(leaf); q != nil; q = q.Towards(leaf) {
		way = append(way, q)
	}
	slices.Reverse(way)
	for _, q := range way {
		if lacking := owed(q, ask); !lacking.IsZero() {
			l.Queues = append(l.Queues, QueueLack{q.Path, lacking})
		}
	}
	if len(l.Queues) > 0 && ask.Nominated == "" && ask.Required == "" {
		l.NoEviction = noEviction(view, kinds, ask, way, asked)
	}
	return l
}

// owed is what a queue lacks of its guarantee of the kinds that an ask wants.
func owed(q *api.QueueView, ask *api.AskView) (lacking resources.Amounts) {
	for i, asked := range ask.Amounts {
		if kind := resources.Kind(i); asked > 0 {
			lacking.Set(kind, guarantee.Lacking(q, kind))
		}
	}
	return lacking
}

// noEviction is why nothing is evicted by guarantee for an ask. The way is its queues below
// the root, from its leaf on.
func noEviction(view *api.View, kinds *resources.Kinds, ask *api.AskView, way []*api.QueueView, asked resources.Amounts) string {
	switch {
	case view.Config.Preemption.Disabled:
		return "preemption is off"
	case ask.NeverPreempts():
		return "it says that nothing is to be evicted for it"
	}
	if in, over := beyondGuarantee(way, asked); in != nil {
		with, use := "it", in.Used.Plus(in.Nominated).Plus(asked)
		if !asked.Equal(ask.Amounts) {
			with = "its group"
		}
		return fmt.Sprintf("with %s queue %s would use %s, where %s is guaranteed", with, in.Path, kinds.Format(only(use, over)), kinds.Format(only(in.Guaranteed, over)))
	}
	for i := range ask.Attempts {
		if a := &ask.Attempts[i]; a.Trigger == preemptor.Guarantee && !a.Succeeded() {
			return noVictims(kinds, ask, way, a)
		}
	}
	switch ask.Reason {
	case api.NoNodeFits, api.Infeasible, api.NotTried, api.QuotaExceeded, api.AwaitsGang, api.GroupBelow:
		return ""
	}
	return "it does not wait for room"
}

// noVictims is why an attempt by guarantee has found nothing to evict: which kind that its nearest node lacks is used up, or why what
// runs there is no candidate.
func noVictims(kinds *resources.Kinds, ask *api.AskView, way []*api.QueueView, a *api.PreemptionAttempt) string {
	text := fmt.Sprintf("at %s nothing was found whose eviction would make room", a.At.UTC().Format(time.RFC3339))
	if a.Plan == nil {
		return text
	}
	for _, q := range way {
		for _, kind := range kindsOf(a.Plan.Needed) {
			use, most := resources.Total(q.Used.Of(kind), q.Nominated.Of(kind), ask.Amounts.Of(kind)), q.Guaranteed.Of(kind)
			if ask.Amounts.Of(kind) > 0 && most > 0 && use > most {
				of := []resources.Kind{kind}
				with := only(q.Used.Plus(q.Nominated).Plus(ask.Amounts), of)
				return fmt.Sprintf("%s: %s, the nearest, lacks %s, of which queue %s would use %s, where %s is guaranteed",
					text, a.Node, kinds.Format(only(a.Plan.Needed, of)), q.Path, kinds.Format(with), kinds.Format(only(q.Guaranteed, of)))
			}
		}
	}
	var parts []string
	for f, count := range a.Plan.ByFilter {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, preemptor.Filter(f)))
		}
	}
	if a.Plan.Reason != preemptor.NoCandidates || len(parts) == 0 {
		return text
	}
	return fmt.Sprintf("%s: of what runs on %s, the nearest, %s", text, a.Node, strings.Join(parts, ", "))
}

// tooEarly is until when nothing is evicted by guarantee for an ask because it is young, if that is why; it is empty
// otherwise.
func (a *Answer) tooEarly(now time.Time) string {
	from := a.ask.Created.Add(a.leaf().Properties.PreemptionDelay)
	if len(a.Lack.Queues) == 0 || a.Lack.NoEviction != "" || a.ask.Nominated != "" || !from.After(now) {
		return a.Lack.NoEviction
	}
	return fmt.Sprintf("that may be from %s on", from.UTC().Format(time.RFC3339))
}

// beyondGuarantee is the first queue on the way that would use more than is guaranteed to it
// with an ask, and of which kinds, so that nothing is evicted by guarantee; nil if it may be. Each
// kind that is asked for counts; where the leaf looks at kinds by themselves, one is enough.
func beyondGuarantee(way []*api.QueueView, asked resources.Amounts) (in *api.QueueView, over []resources.Kind) {
	perKind := way[0].Properties.GuaranteePerKind
	open := kindsOf(asked)
	for _, q := range way {
		met, beyond := false, []resources.Kind(nil)
		for _, kind := range open {
			switch most := q.Guaranteed.Of(kind); {
			case most <= 0:
			case resources.Total(q.Used.Of(kind), q.Nominated.Of(kind), asked.Of(kind)) <= most:
				met = true
			default:
				beyond = append(beyond, kind)
			}
		}
		if in == nil && len(beyond) > 0 {
			in, over = q, beyond
		}
		if met && (perKind || in == nil) {
			return nil, nil
		}
		if !perKind && in != nil {
			return in, over
		}
		open = slices.DeleteFunc(open, func(kind resources.Kind) bool { return slices.Contains(beyond, kind) })
	}
	return in, over
}

// kindsOf are the kinds of which there is some.
func kindsOf(amounts resources.Amounts) (list []resources.Kind) {
	for i, quantity := range amounts {
		if quantity > 0 {
			list = append(list, resources.Kind(i))
		}
	}
	return list
}

// only is amounts of some kinds alone.
func only(of resources.Amounts, kinds []resources.Kind) (some resources.Amounts) {
	for _, kind := range kinds {
		some.Set(kind, of.Of(kind))
	}
	return some
}
