package preemptor

import "slices"

// breaks reports whether others run in vain without c.
func (c *Candidate) breaks() bool { return c.Breaks > 1 }

// A brokenGroup is how many run in vain without victims, beside these.
type brokenGroup struct {
	group           int32
	priority, count int64
}

type brokenGroups []brokenGroup

func (b brokenGroups) sum() (n int64) {
	for i := range b {
		n += b[i].count
	}
	return n
}

// countBroken counts what runs in vain without the victims, each group once. Nil is none.
func (p *plan) countBroken() (broken brokenGroups) {
	for _, i := range p.victims {
		c := p.ranked[i].Candidate
		if !c.breaks() {
			continue
		}
		at := slices.IndexFunc(broken, func(b brokenGroup) bool { return b.group == c.Group })
		if at < 0 {
			broken = append(broken, brokenGroup{c.Group, int64(c.Priority), int64(c.Breaks) - 1})
			continue
		}
		broken[at].count = max(broken[at].count-1, 0)
	}
	return broken
}

// spareGroups chooses again without those whose end breaks a group and which are as important as
// the most important victim, where others do no more harm. So surplus members and what runs by
// itself go first. Otherwise the choice stays as it is.
func (p *plan) spareGroups() {
	if p.reason != Chosen || !slices.ContainsFunc(p.victims, func(i int) bool { return p.ranked[i].breaks() }) {
		return
	}
	before, all, filtered := p.cost(), slices.Clone(p.ranked), len(p.filtered)
	worst := p.ranked[p.victims[len(p.victims)-1]].importance >> 8
	left := p.ranked[:0]
	for i := range all {
		if e := &all[i]; e.breaks() && e.importance>>8 >= worst {
			p.leaveOut(e.Candidate, IsGrouped)
			continue
		}
		left = append(left, all[i])
	}
	p.chooseAmong(left)
	if p.reason == Chosen && p.isNoWorse(p.cost(), before) {
		return
	}
	if p.byFilter[IsGrouped] = 0; p.reporting {
		p.filtered = p.filtered[:filtered]
	}
	p.chooseAmong(append(p.ranked[:0], all...))
}

// chooseAmong runs the strategies for some candidates, which are in order.
func (p *plan) chooseAmong(some []eligible) {
	p.ranked, p.weighed = some, false
	p.outcome = outcome{victims: p.victims[:0], failures: p.failures[:0]}
	p.summed = false
	p.fillShares()
	p.flagBudgeted()
	if p.reason = NothingHelps; p.rules.partial || p.reached(p.total) {
		p.run()
	}
}

// isNoWorse reports whether a plan takes victims of no higher class and priority than another, and
// exceeds no more budgets.
func (p *plan) isNoWorse(cost, than Cost) bool {
	most := 4
	if p.rules.byPriority {
		most = 3
	}
	return slices.Compare(cost[:most], than[:most]) <= 0
}
