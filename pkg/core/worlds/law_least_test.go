package worlds

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// lawLeast says that each victim is necessary, and that none is of a higher class or priority than
// others that would be enough.
const lawLeast = "victims are the least"

func victimsAreTheLeast(g *game) []failure { return append(g.plans(), g.needless()...) }

// plans looks at the victims of each plan, in worlds with one ask: room that is kept for
// others is not known here.
func (g *game) plans() (list []failure) {
	asks := 0
	for i := range g.w.Pods {
		if g.w.Pods[i].Node == "" {
			asks++
		}
	}
	plans := map[time.Duration][]*pod{}
	for _, e := range g.evictions {
		plans[e.At] = append(plans[e.At], g.w.pod(e.Victim))
	}
	for i, e := range g.evictions {
		if e.Trigger == preemptor.Quota || g.changedSince(e.At) || asks > 1 || i > 0 && g.evictions[i-1].At == e.At || len(e.Before.leaving()) > 0 {
			continue
		}
		victims := plans[e.At]
		place, _ := e.Before.place(g.w.pod(e.For), g.w.node(e.Target), e.Trigger)
		for j, v := range victims {
			if e.Before.enough(&place, slices.Delete(slices.Clone(victims), j, j+1)) {
				list = append(list, failure{Ask: e.For, Trigger: e.Trigger, Cause: "a victim could stay", Detail: v.Key})
			}
		}
		if cause := e.Before.worse(place, victims); cause != "" {
			list = append(list, failure{Ask: e.For, Trigger: e.Trigger, Cause: cause, Detail: keysOf(victims)})
		}
	}
	return list
}

// worse says whether victims of a lower class, or then of a lower priority, would have
// been enough on the same node, for the triggers by which class comes first.
func (o *oracle) worse(p place, victims []*pod) string {
	scaled := slices.ContainsFunc(o.w.Queues, func(q queue) bool { return q.Fence || q.Offset != 0 })
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
	p.within = func(v *pod) bool { return v.class() < class }
	if _, found := o.victims(&p); found {
		return "a lower class is enough"
	}
	p.within = func(v *pod) bool { return v.class() <= class && v.Priority < priority }
	_, found := o.victims(&p)
	return when(found, "a lower priority of the same class is enough")
}

func (p *pod) class() preemptor.Class {
	switch {
	case p.OptedOut:
		return preemptor.OptedOut
	case p.Foreign != api.Own:
		return preemptor.Foreign
	case p.Owner:
		return preemptor.Owner
	}
	return preemptor.Regular
}
