package simulator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
)

// allTriggers is every reason to make room, in the order of tables.
func allTriggers(visit func(preemptor.Trigger)) {
	for t := range preemptor.Trigger(preemptor.Triggers) {
		visit(t)
	}
}

// preemptionOf sums up evictions and nominations; nil if there were none.
func (r *run) preemptionOf(view *api.View) *Preemption {
	t, counts := &r.counts.preemption, view.Preempted
	if len(t.outcomes) == 0 && counts.Victims.Total()+counts.Nominations+counts.Loops == 0 {
		return nil
	}
	p := &Preemption{
		Plans: t.outcomes, Victims: int(counts.Victims.Total()), Foreign: r.counts.foreignPreempted, Ran: seconds(t.ran),
		Overdue: int(counts.Overdue.Total()), Reservations: int(counts.Reservations),
		Nominations: int(counts.Nominations), Cleared: int(counts.Cleared), Loops: int(counts.Loops),
		NodesLookedAt: int64(view.Work.NodeCosts), Violations: t.violations,
		ByTrigger: []TriggerCount{}, ByKind: r.victimCounts(), ByQueue: r.queueVictims(),
		Waiting: waitsOf(r.counts.daemonWaits), Helped: waitsOf(t.of(preemptor.RequiredNode).waits),
		Failed: failedAttempts(view, r.scenario), Budgets: r.budgetUse(), Records: t.kept,
	}
	wasted := r.outcomes.Counts().Wasted
	for cause, count := range wasted.Named() {
		p.Wasted = added(p.Wasted, cause, int(count))
	}
	for _, n := range view.Nodes {
		p.Releasing += len(n.Evictions)
	}
	allTriggers(func(trigger preemptor.Trigger) {
		of := t.of(trigger)
		one := TriggerCount{
			Trigger: trigger.String(), Plans: of.plans, Failed: of.failed, Victims: int(counts.Victims.By(trigger)),
			Nominations: of.nominated, Cleared: of.cleared, Elsewhere: of.elsewhere, Helped: waitsOf(of.waits),
		}
		if one != (TriggerCount{Trigger: one.Trigger}) {
			p.ByTrigger = append(p.ByTrigger, one)
		}
	})
	return p
}

// victimCounts lists the victims by trigger, class and strategy.
func (r *run) victimCounts() []VictimCount {
	victims := r.counts.preemption.victims
	kinds := slices.SortedFunc(maps.Keys(victims), func(a, b victimKind) int {
		return cmp.Or(cmp.Compare(a.trigger, b.trigger), cmp.Compare(a.class, b.class), cmp.Compare(a.strategy, b.strategy))
	})
	list := []VictimCount{}
	for _, k := range kinds {
		list = append(list, VictimCount{
			Trigger: k.trigger.String(), Class: k.class.String(), Strategy: k.strategy.String(), Victims: victims[k],
		})
	}
	return list
}

// queueVictims lists victims by the queues that got their room and that they were in.
func (r *run) queueVictims() []QueueVictims {
	taken := r.counts.preemption.byQueue
	pairs := slices.SortedFunc(maps.Keys(taken), func(a, b queuePair) int {
		return cmp.Or(cmp.Compare(a.trigger, b.trigger), cmp.Compare(a.by, b.by), cmp.Compare(a.from, b.from))
	})
	list := []QueueVictims{}
	for _, k := range pairs {
		list = append(list, QueueVictims{Trigger: k.trigger.String(), By: string(k.by), From: string(k.from), Victims: taken[k]})
	}
	return list
}

func (r *run) budgetUse() []BudgetUse {
	var list []BudgetUse
	for _, b := range r.budgets.all {
		list = append(list, BudgetUse{Name: b.Name, Allowed: b.Allowed, Peak: int(b.down.peak)})
	}
	return list
}

// An attemptKind is what failed preemption attempts are grouped by.
type attemptKind struct {
	queue            api.QueuePath
	trigger, summary string
}

// failedAttempts groups the pods that wait at the end by why no room can be made.
func failedAttempts(view *api.View, s *Scenario) []FailedAttempts {
	groups := map[attemptKind]*FailedAttempts{}
	for _, app := range view.Applications {
		for _, ask := range sortedAsks(app) {
			for _, a := range ask.Attempts {
				kind := attemptKind{app.Queue, a.Trigger.String(), attemptSummary(a, s)}
				one := groups[kind]
				if one == nil {
					one = &FailedAttempts{
						Queue: string(app.Queue), Trigger: kind.trigger, Summary: kind.summary, Example: string(ask.Key), NearMiss: string(a.Node),
						Nodes: a.Nodes, Closed: a.Closed, TooSmall: a.TooSmall, Insufficient: a.Insufficient, Refused: a.Refused,
					}
					groups[kind] = one
				}
				one.Pods++
			}
		}
	}
	var list []FailedAttempts
	for _, one := range groups {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b FailedAttempts) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Trigger, b.Trigger), cmp.Compare(a.Summary, b.Summary))
	})
	return list
}

// attemptSummary says why a preemption attempt failed.
func attemptSummary(a api.PreemptionAttempt, s *Scenario) string {
	if a.Plan == nil {
		return "no node could hold it"
	}
	return planned.Summary(a.Plan, s.Kinds)
}

// victimsByTrigger names the counts that are not zero; nil if none is.
func victimsByTrigger(victims [preemptor.Triggers]int) map[string]int {
	var named map[string]int
	for t, n := range victims {
		if n > 0 {
			named = added(named, preemptor.Trigger(t).String(), n)
		}
	}
	return named
}

// added is counts with one more, which may be the first.
func added(counts map[string]int, name string, n int) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[name] = n
	return counts
}

func (r *run) preemptionSeries() *PreemptionSeries {
	b := r.books
	s := &PreemptionSeries{
		Victims: []int64{}, ByTrigger: []TriggerSeries{},
		Releasing: b.releasing.peaks(), Nominated: b.nominated.peaks(), Daemons: b.daemons.peaks(),
	}
	allTriggers(func(t preemptor.Trigger) {
		victims := b.victims[t].peaks()
		for i, n := range victims {
			if i == len(s.Victims) {
				s.Victims = append(s.Victims, 0)
			}
			s.Victims[i] += n
		}
		if slices.Max(append(victims, 0)) > 0 {
			s.ByTrigger = append(s.ByTrigger, TriggerSeries{Trigger: t.String(), Victims: victims})
		}
	})
	return s
}
