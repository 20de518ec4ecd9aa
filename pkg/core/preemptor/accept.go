package preemptor

import (
	"fmt"
	"slices"
	"strings"
)

// Accept is the decision to take exactly the victims with these keys, which the
// resource manager chose among the candidates. They are Chosen if all of them are
// candidates, they cover the need, and they keep the floors and, with
// HardBudgets, the budgets. Otherwise the reason is NotEnough, and
// Decision.Refusal says what is wrong, or is empty if they hold too little. If no victim is needed, the reason is that
// of Plan. Accept does not call Node.Fits, and it does not check that every
// victim is necessary: that is left to the resource manager.
func (pl *Planner) Accept(cfg Config, ask Ask, node Node, victims []string) Decision {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.reporting, p.given = true, true
	p.filter()
	p.rank()
	switch needed := len(p.short) > 0 || p.fits != nil && len(victims) > 0; {
	case !needed && p.rules.hasAsk && ask.Amounts.FitsIn(node.Free):
		p.reason = RoomIsThere
	case !needed:
		p.reason = WaitsForReleasing
	case cfg.Disabled:
		p.reason = Disabled
	default:
		p.reason, p.refusal = p.objection(victims)
	}
	return p.decision()
}

// objection is Chosen if nothing is wrong with these victims, and otherwise NotEnough and what is
// wrong, empty if they hold too little. They become the victims of the plan.
func (p *plan) objection(keys []string) (Reason, string) {
	p.victims = p.victims[:0]
	for _, key := range keys {
		i := slices.IndexFunc(p.ranked, func(e eligible) bool { return e.Key == key })
		switch {
		case i < 0:
			return NotEnough, p.whyNoCandidate(key)
		case slices.Contains(p.victims, i):
			return NotEnough, key + " is given twice"
		}
		p.victims = append(p.victims, i)
	}
	slices.Sort(p.victims)
	p.sumGiven()
	p.violations = p.countViolations(p.victims)
	p.fillFloors()
	for _, i := range p.victims {
		c := p.ranked[i].Candidate
		if f, broken := p.brokenBy(c); broken {
			return NotEnough, fmt.Sprintf("%s would leave queue %s less than is guaranteed", c.Key, p.node.Floors[f].Queue)
		}
		p.charge(c, 1)
	}
	if p.violations > 0 && p.cfg.Budgets == HardBudgets {
		return NotEnough, "breaks budget " + strings.Join(p.broken(p.victims), ", ")
	}
	if !p.reached(p.sums) {
		return NotEnough, ""
	}
	return Chosen, ""
}

// whyNoCandidate says why the allocation of this key is no candidate.
func (p *plan) whyNoCandidate(key string) string {
	for _, f := range p.filtered {
		if f.Key == key {
			return fmt.Sprintf("%s is no candidate: %s", key, f.Why)
		}
	}
	return key + " is not known"
}

// sumGiven adds up what the given victims hold. No more than that can be freed.
func (p *plan) sumGiven() {
	p.sums = append(p.sums[:0], p.need...)
	clear(p.sums)
	for _, i := range p.victims {
		for k, held := range p.ranked[i].held {
			p.sums[k] = add(p.sums[k], held)
		}
	}
	p.summed = true
}
