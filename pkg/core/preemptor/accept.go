package preemptor

import (
	"fmt"
	"slices"
	"strings"
)

// Accept is the decision to take exactly these victims, by their keys, whom the
// resource manager chose among the candidates. They are Chosen if all of them
// may go, they cover the need, and they keep the floors and, with HardBudgets,
// the budgets; otherwise it is NotEnough, and Decision.Refusal says what is
// wrong. Where they need not go, the reason is that of Plan. It asks Node.Fits
// nothing, and does not mind victims who could be spared: that is the resource
// manager's business.
func (pl *Planner) Accept(cfg Config, ask Ask, node Node, victims []string) Decision {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.telling, p.given = true, true
	p.sift()
	p.rank()
	switch needed := len(p.short) > 0 || p.fits != nil && len(victims) > 0; {
	case !needed && p.terms.hasAsk && ask.Amounts.FitsIn(node.Free):
		p.reason = RoomIsThere
	case !needed:
		p.reason = WaitsForReleasing
	case cfg.Disabled:
		p.reason = Disabled
	default:
		p.reason = Chosen
		if p.refusal = p.objection(victims); p.refusal != "" {
			p.reason = NotEnough
		}
	}
	return p.decision()
}

// objection is what speaks against these victims, or nothing; they are the
// victims of the plan afterwards.
func (p *plan) objection(keys []string) string {
	p.victims = p.victims[:0]
	for _, key := range keys {
		i := slices.IndexFunc(p.ranked, func(e eligible) bool { return e.Key == key })
		switch {
		case i < 0:
			return p.whyNot(key)
		case slices.Contains(p.victims, i):
			return key + " is given twice"
		}
		p.victims = append(p.victims, i)
	}
	slices.Sort(p.victims)
	p.addGiven()
	p.violations = p.countViolations(p.victims)
	p.fillFloors()
	for _, i := range p.victims {
		c := p.ranked[i].Candidate
		if f, broken := p.brokenBy(c); broken {
			return fmt.Sprintf("%s would leave queue %s less than is guaranteed", c.Key, p.node.Floors[f].Queue)
		}
		p.charge(c, 1)
	}
	if p.violations > 0 && p.cfg.Budgets == HardBudgets {
		return "breaks budget " + strings.Join(p.broken(p.victims), ", ")
	}
	if !p.reached(p.put.sums) {
		var d Decision
		p.tellMissing(&d)
		return d.shortBy(p.node.Kinds)
	}
	return ""
}

// whyNot says why nobody of this key is a candidate.
func (p *plan) whyNot(key string) string {
	for _, f := range p.filtered {
		if f.Key == key {
			return fmt.Sprintf("%s is no candidate: %s", key, f.Why)
		}
	}
	return key + " is not there"
}

// addGiven adds up what the given victims hold; it is what can be reached.
func (p *plan) addGiven() {
	p.put.sums = append(p.put.sums[:0], p.need...)
	clear(p.put.sums)
	for _, i := range p.victims {
		for k, held := range p.ranked[i].held {
			p.put.sums[k] = add(p.put.sums[k], held)
		}
	}
	p.pooled = true
}
