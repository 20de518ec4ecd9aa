package preemptor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// decision is the result of the plan, in memory of its own.
func (p *plan) decision() Decision {
	if len(p.ranked) > 0 && !p.weighed && p.reason == Chosen {
		p.weighAll()
	}
	d := Decision{
		Trigger: p.ask.Trigger, Cost: p.cost(), Reason: p.reason, Strategy: p.strategy, Given: p.given,
		Proof: p.proof, Together: p.together, Failures: append([]Failure(nil), p.failures...), Again: p.again,
		Ask: p.ask.Key, Asked: p.ask.Amounts.Clone(), Free: p.node.Free.Clone(), Releasing: append(resources.Amounts(nil), p.releasing...),
		Partial: p.partial && p.reason == Chosen, Refusal: p.refusal,
		ByFilter: p.byFilter, Filtered: p.filtered,
	}
	d.Needed, d.Quota = p.amounts(p.need)
	for i := range p.ranked {
		d.ByClass[p.ranked[i].class]++
		for c := p.ranked[i].Candidate; c != nil; c = c.With {
			d.Freeable.Add(holds(c))
		}
	}
	slices.SortFunc(d.Filtered, func(a, b Filtered) int {
		return cmp.Or(cmp.Compare(a.Why, b.Why), strings.Compare(a.Key, b.Key))
	})
	p.reportMissing(&d)
	p.reportFloors(&d)
	if p.reason == Chosen {
		p.reportVictims(&d)
	}
	return d
}

// reportMissing fills in what is missing even if all candidates are removed.
func (p *plan) reportMissing(d *Decision) {
	sums := p.reachable()
	open := make([]int64, len(p.need))
	for k, need := range p.need {
		open[k] = max(need-sums[k], 0)
	}
	d.Missing = p.missing(sums)
	d.Lacking, d.LackingQuota = p.amounts(open)
}

// reportVictims fills in the victims, the least important first.
func (p *plan) reportVictims(d *Decision) {
	for _, i := range p.victims {
		e := p.ranked[i]
		for c := e.Candidate; c != nil; c = c.With {
			v := Victim{Candidate: *c, Class: classOf(c)}
			if g := e.Group; g > 0 {
				v.Of = p.node.Groups[g-1].Name
			}
			v.Amounts, v.With = v.Amounts.Clone(), nil
			v.Elsewhere = v.Elsewhere && p.rules.hasAsk // without an ask there is no node
			v.Floors, v.Budgets = slices.Clone(v.Floors), slices.Clone(v.Budgets)
			d.Victims = append(d.Victims, v)
			d.Freed.Add(holds(c))
		}
		d.Weight += e.weight
	}
	d.Violations, d.Broken = p.violations, p.broken(p.victims)
	d.Stops = p.stopped(p.victims)
	p.reportBelow(d)
}

// reportBelow fills in the queues whose guarantee the victims break.
func (p *plan) reportBelow(d *Decision) {
	if len(p.node.Floors) == 0 {
		return
	}
	held := make([]resources.Amounts, len(p.node.Floors))
	for _, i := range p.victims {
		for c := p.ranked[i].Candidate; c != nil; c = c.With {
			for _, f := range c.Floors {
				held[f].Add(holds(c))
			}
		}
	}
	for f, floor := range p.node.Floors {
		for kind, v := range held[f] {
			if v > max(floor.Surplus.Of(resources.Kind(kind)), 0) {
				d.Below = append(d.Below, floor.Queue)
				break
			}
		}
	}
	slices.Sort(d.Below)
}

// reportFloors fills in the floors that excluded a candidate.
func (p *plan) reportFloors(d *Decision) {
	slices.Sort(p.binding)
	for _, f := range slices.Compact(p.binding) {
		floor := p.node.Floors[f]
		d.Floors = append(d.Floors, Floor{Queue: floor.Queue, Surplus: floor.Surplus.Clone()})
	}
	slices.SortFunc(d.Floors, func(a, b Floor) int { return strings.Compare(a.Queue, b.Queue) })
}
