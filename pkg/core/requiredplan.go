package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemption"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// planFor plans which allocations make room for the last of some asks of a node, or for
// all of them if there are more. The victims that were chosen for those together count as
// releasing in a plan for one ask.
func (d *round) planFor(asks []*ledger.Request, lack ledger.QuotaNeed) preemptor.Decision {
	last := asks[len(asks)-1]
	ask := preemptor.Ask{Key: string(last.Key), Amounts: last.Amounts, Priority: last.Priority, Reserved: last.Wait.Since}
	on := preemptor.Node{Kinds: d.Kinds, Free: d.node.FreeFor(last)}
	lack.SetOn(&on)
	if len(asks) > 1 {
		on.Free = on.Free.Plus(d.wanted)
		ask.Amounts = d.wanted.Plus(last.Amounts)
	}
	d.fillCandidates(&on, last, lack, len(asks) > 1)
	if d.Options.Simulate != nil {
		on.Fits = d.simulation(d.beside(asks), len(asks))
		on.AwaitsQuota = last.WithoutRoom() != nil
	}
	cfg := d.Preemption.RequiredNode
	cfg.Budgets, cfg.ByQoS = d.Preemption.Budgets, d.Preemption.ByQoS
	cfg.VictimsMax = min(cfg.VictimsMax*len(asks), preemptor.VictimsLimit)
	cfg.Disabled = cfg.Disabled || last.NeverPreempts()
	if until := d.settling.End(); !until.IsZero() {
		cfg.StartDelay = max(cfg.StartDelay, until.Sub(last.Wait.Since))
	}
	d.counts.Plans++
	plan := d.costs.Planner.Plan(d.Now, cfg, ask, on)
	if plan.Reason == preemptor.TooYoung { // which holds the node only if there is hope
		cfg.StartDelay = 0
		if later := d.costs.Planner.Plan(d.Now, cfg, ask, on); later.Reason != preemptor.Chosen {
			return later
		}
	}
	return plan
}

// fillCandidates adds what runs on the node as an ask sees it, with guarantees and
// budgets.
func (d *round) fillCandidates(on *preemptor.Node, r *ledger.Request, lack ledger.QuotaNeed, together bool) {
	c := &preemption.NodeCosts{Key: d.keyOf(r), Relations: map[*ledger.Queue]*preemption.Relation{}}
	in := &d.costs.Input
	in.Begin(c, d.costs.Flat)
	in.Frees(lack)
	if !together {
		in.EndAnyway(d.plan.Victims)
	}
	for _, other := range d.node.Own {
		in.Add(c, other, false)
	}
	for _, other := range d.node.Foreign {
		in.AddForeign(c, d.Root, other)
	}
	in.SetOn(c, on)
	d.predicates.AddBudgets(on)
}

// keyOf is how an ask that requires the node sees queues.
func (d *round) keyOf(r *ledger.Request) preemption.Key {
	return preemption.Key{Class: d.ClassOf(r), Leaf: r.App.Queue, Scope: r.App.Queue.UpTo((*ledger.Queue).IsFenced)}
}

// mayFree reports whether what runs on the node could free the quota that an ask lacks.
func (d *round) mayFree(lack ledger.QuotaNeed) bool {
	held := make([]resources.Amounts, len(lack)+1)
	for _, other := range d.node.Own {
		if other.Required == "" && other.Eviction == nil {
			held[lack.From(other.App.Queue)].Add(other.Amounts)
		}
	}
	var sum resources.Amounts
	for i := range lack {
		if sum.Add(held[i]); lack[i].Amounts.Above(api.PlanMax) || !lack[i].Amounts.FitsIn(sum) {
			return false
		}
	}
	return true
}

func (d *round) isVictim(key string) bool {
	return slices.ContainsFunc(d.plan.Victims, func(v preemptor.Victim) bool { return v.Key == key })
}

// beside are some asks after those that come before the last of them, and for which room is on its
// way too.
func (d *round) beside(asks []*ledger.Request) []*ledger.Request {
	others := slices.DeleteFunc(d.before(asks[len(asks)-1]), func(r *ledger.Request) bool { return slices.Contains(asks, r) })
	return append(others, asks...)
}

// simulation is the question whether the last of some asks may run together on the node
// without some allocations, beside all that come before. Like others, each is also asked
// about alone, since those before are not there yet.
func (d *round) simulation(asks []*ledger.Request, last int) func([]string) error {
	known := map[string]error{}
	return func(removed []string) error {
		text := strings.Join(removed, "\x00")
		if err, asked := known[text]; asked {
			return err
		}
		known[text] = d.simulate(asks, last, question.KeysOf(removed))
		return known[text]
	}
}

func (d *round) simulate(asks []*ledger.Request, last int, removed []api.AllocationKey) error {
	var before []api.AllocationKey
	for i, r := range asks {
		if i >= len(asks)-last {
			if err := d.predicates.Simulate(r, d.node, removed); err != nil {
				return err
			}
			if len(before) > 0 {
				if err := d.predicates.Beside(r, d.node, slices.Clone(before), removed); err != nil {
					return err
				}
			}
		}
		before = append(before, r.Key)
	}
	others := asks[:len(asks)-last]
	if len(others) == 0 {
		return nil
	}
	ending := d.ending(removed, last == 1)
	for _, r := range others {
		if err := d.predicates.Spoils(r.Key, d.node, removed, ending); err != nil {
			return err
		}
	}
	return nil
}

// ending are those of some allocations that end anyway: they are releasing, or, beside asks
// that are planned together, they were chosen for these.
func (d *round) ending(removed []api.AllocationKey, beside bool) (all []api.AllocationKey) {
	for _, key := range removed {
		if r := d.Requests[key]; r.Releasing() || beside && d.isVictim(string(key)) {
			all = append(all, key)
		}
	}
	return all
}

// spare drops the victims without which there is still room for all asks that are planned
// together, and the quota that one lacks is freed, the most important first. A
// plan for all of them has none; one that was added to another may have. So may one for
// quota: what ends to make room frees quota too, even if it is too important to end for that.
func (d *round) spare(lack ledger.QuotaNeed) {
	if len(d.together) < 2 && len(lack) == 0 {
		return
	}
	for at := len(d.plan.Victims) - 1; at >= 0; at-- {
		key, unit := d.plan.Victims[at].Key, d.plan.Victims[at].Unit
		fewer := slices.DeleteFunc(slices.Clone(d.plan.Victims), func(v preemptor.Victim) bool {
			return v.Key == key || unit != "" && v.Unit == unit
		})
		if d.suffice(fewer) && d.frees(lack, fewer) {
			d.plan.Victims, at = fewer, min(at, len(fewer))
		}
	}
}

// frees reports whether the end of some victims frees the quota that an ask lacks.
func (d *round) frees(lack ledger.QuotaNeed, victims []preemptor.Victim) bool {
	for _, l := range lack {
		var sum resources.Amounts
		for _, v := range victims {
			if r := d.Requests[api.AllocationKey(v.Key)]; !r.Foreign() && r.App.Queue.Within(l.Queue) {
				sum.Add(v.Amounts)
			}
		}
		if !l.Amounts.FitsIn(sum) {
			return false
		}
	}
	return true
}

// suffice reports whether all asks that are planned together can run without these.
func (d *round) suffice(victims []preemptor.Victim) bool {
	last := d.together[len(d.together)-1]
	room := d.node.FreeFor(last).Minus(last.Amounts).Plus(d.node.Releasing.Amounts)
	removed := []string{}
	for r := range d.node.AllOn {
		if r.Releasing() {
			removed = append(removed, string(r.Key))
		}
	}
	for _, v := range victims {
		if !v.Elsewhere {
			room.Add(v.Amounts)
			removed = append(removed, v.Key)
		}
	}
	if _, short := room.Negative(); short {
		return false
	}
	return d.Options.Simulate == nil ||
		d.simulate(d.beside(d.together), len(d.together), question.KeysOf(removed)) == nil
}

// commit has the victims end that were chosen for the asks that were planned together,
// each for one of them. It says false, and nothing ends, if what was kept from them then is
// not kept any more: they are to be planned again, and may need no victims.
func (d *round) commit() bool {
	asks, plan := d.together, d.plan
	d.together, d.wanted = nil, nil
	if len(asks) == 0 {
		return true
	}
	if d.kept.Broken != d.broken {
		for _, r := range asks {
			r.Wait.Plans(nil, d.Now)
		}
		return false
	}
	// Until all are told, those that others get count as releasing for an ask without any.
	defer func() { d.plan = preemptor.Decision{} }()
	shares := [][]preemptor.Victim{plan.Victims}
	if len(asks) > 1 {
		shares = d.share(asks, plan.Victims)
	}
	for i, r := range asks {
		own := plan
		if len(asks) > 1 {
			own = d.shareOf(r, &plan, shares[i])
		}
		d.evict(r, &own)
		d.kept.SettleQuota(r)
	}
	return true
}

// share divides victims among asks: each gets those that it needs beside what is free
// and what those before it leave. The important ones are given first, since the first ask
// is the most important one.
func (d *round) share(asks []*ledger.Request, victims []preemptor.Victim) [][]preemptor.Victim {
	left := slices.Clone(victims)
	slices.SortStableFunc(left, func(a, b preemptor.Victim) int { return cmp.Compare(b.Priority, a.Priority) })
	shares := make([][]preemptor.Victim, len(asks))
	var added resources.Amounts
	for i, r := range asks {
		short := r.Amounts.Shortfall(d.node.FreeFor(r).Plus(d.node.Releasing.Amounts).Plus(added))
		left = slices.DeleteFunc(left, func(v preemptor.Victim) bool {
			isAbove := v.Priority > r.Priority || v.Priority == r.Priority && v.Foreign
			if v.Elsewhere || isAbove || !v.Amounts.HoldsAny(short) {
				return false
			}
			short.Sub(v.Amounts)
			added.Add(v.Amounts)
			shares[i] = append(shares[i], v)
			return true
		})
	}
	shares[0] = append(shares[0], left...) // which end a conflict
	return shares
}

// shareOf is the part of a plan that is for one of its asks.
func (d *round) shareOf(r *ledger.Request, plan *preemptor.Decision, victims []preemptor.Victim) preemptor.Decision {
	if len(victims) == 0 {
		return d.planFor([]*ledger.Request{r}, nil)
	}
	own := *plan
	own.Ask, own.Asked, own.Victims = string(r.Key), r.Amounts.Clone(), victims
	own.Free, own.Releasing, own.Freed = d.node.FreeFor(r).Clone(), d.node.Releasing.Clone(), nil
	own.Needed = nil
	for i, short := range r.Amounts.Shortfall(own.Free.Plus(own.Releasing)) {
		own.Needed.Set(resources.Kind(i), max(short, 0))
	}
	for _, v := range victims {
		own.Freed.Add(v.Amounts)
	}
	return own
}

// evict has the victims of a plan end.
func (d *round) evict(r *ledger.Request, plan *preemptor.Decision) {
	r.Wait.Plans(plan, d.Now)
	r.Wait.Says(api.NodeFull, "")
	if len(plan.Victims) > 0 {
		d.Tell(&api.PreemptionPlanned{Application: r.Application, Key: r.Key, Queue: r.App.Queue.Path, Node: d.node.ID, Plan: plan})
		for i := range plan.Victims {
			d.evictions.RequestFor(&plan.Victims[i], r, plan)
		}
		r.App.Failed().Loop.Count()
	}
	*d.trialOf(r) = trial{d.node.Revision, plan}
}

// roomUnused notes that victims ended for an ask which does not run all the same: the resource
// manager refuses it where it agreed before, or cannot bind it. No room is made for it
// for a while.
func (p *Partition) roomUnused(r *ledger.Request, why string) {
	g := r.Waiting().Guarded()
	r.RoomForgotten()
	pause := g.Next(p.Options.RetryMax)
	why = fmt.Sprintf("room was made %s and not used: %s", guard.TimesText(g.Times), why)
	p.attempts.KeepBack(r, p.Now.Add(pause), why)
	p.counts.Loops++
	p.Tell(&api.ApplicationReport{
		ID: r.Application, Key: r.Key,
		Message: fmt.Sprintf("no more room is made for %s for %s, since %s", r.Key, pause, why),
	})
}

// isKept reports whether an ask would run on its node if the claims there gave way for which nothing
// is evicted: then nothing is evicted for it either.
func (d *round) isKept(r *ledger.Request) bool {
	free := d.node.FreeFor(r)
	var idle resources.Amounts
	for _, other := range d.node.Claims {
		if other.Wait.Claim.IsIdle() && other.KeepsFrom(r) {
			idle.Add(other.Amounts)
		}
	}
	return len(idle) > 0 && !r.Amounts.FitsIn(free) && r.Amounts.FitsIn(free.Plus(idle))
}

// holdsBack says why no room is made for an ask on its required node now; it is empty if nothing
// is against it. What is overdue there for other asks is not: the ask may need other victims.
func (d *round) holdsBack(r *ledger.Request) string {
	if r.Wait.Ran {
		d.roomUnused(r, "it could not be bound")
	}
	if r.Wait.Paused() {
		d.retryAt(r, r.Wait.Guard.Until)
		return r.Wait.Guard.Why
	}
	if d.node.IsBeyondPlans() {
		return "amounts on the node are too large to make room beside them"
	}
	_, guard := d.node.Overdue(r.Key)
	return guard.Why
}
