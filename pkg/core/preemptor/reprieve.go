package preemptor

import (
	"math"
	"slices"
)

// A reprieval is the state of the strategy reprieve. Its pool is the candidates which may be
// removed together, from the least important one on; the victims are some of it, or others if an
// exact search found these.
type reprieval struct {
	pool, order []int
	sums        []int64 // what the pool holds of the need, saturating
	filled      bool
	victims     []int
	wanted      []int64
	stopped     bool // there may be better victims
}

// reprieve removes the whole pool, and then puts back the most important candidate that
// is not needed, and so on down to the least important. So every victim is necessary:
// without it the ask does not fit. The number of victims need not be the least.
//
// If the pool is too small because of floors, or is refused, all sets of candidates are
// searched. If the victims exceed budgets, see exceedFewer.
func (p *plan) reprieve() choice { return (sparing{p}).choose() }

// A sparing is the choice of reprieve.
type sparing struct{ *plan }

func (p sparing) choose() choice {
	r := &p.reprieval
	p.search.reset(&p.problem)
	r.stopped = false
	if len(p.short) == 0 && !p.fitsWithoutAll() { // asked first: one that cannot simulate shows it here
		return choice{failure: Failure{Why: NotFitting}}
	}
	p.fillPool(p.keepingFloors(), false)
	a := no
	if p.reached(r.sums) {
		a = p.spareSome(r.pool, boundless)
	}
	if a == no {
		switch {
		case !p.reached(p.total):
			return p.reprievePart()
		case !p.fitsWithoutAll():
			return choice{failure: Failure{Why: NotFitting}}
		}
		if a = p.spareSome(p.ranks(), p.keepingFloors()); a == yes {
			copy(r.sums, p.total)
		}
	}
	return p.chooseSpared(a)
}

// boundless is the limit where nothing has to be checked.
var boundless = limit{math.MaxInt, Classes - 1, math.MaxInt, math.MaxInt32}

// keepingFloors is the limit of all lawful victims.
func (p sparing) keepingFloors() limit {
	l := p.highestLimit()
	l.below = 0
	return l
}

// spareSome looks for the victims of the least importance.
func (p sparing) spareSome(pool []int, within limit) answer {
	a := p.search.spare(pool, within, p.fits)
	if a == unknown && within == boundless {
		a = p.search.spareAsking(pool, p.fits)
	}
	if a == yes {
		p.reprieval.victims = append(p.reprieval.victims[:0], p.search.kept...)
	}
	p.reprieval.stopped = p.reprieval.stopped || p.search.stopped
	return a
}

// chooseSpared chooses the victims, or others that exceed fewer budgets.
func (p sparing) chooseSpared(a answer) choice {
	r := &p.reprieval
	if a == yes {
		a = p.exceedFewer()
	}
	switch {
	case a != yes && p.rules.partial && !p.partial:
		return p.reprievePart()
	case a == unknown:
		return choice{failure: Failure{Why: TooLong, Most: p.search.steps}}
	case a == no:
		return choice{failure: Failure{Why: p.whyNotSpared()}}
	case p.rules.configured && len(r.victims) > p.cfg.VictimsMax:
		return choice{failure: Failure{Why: TooMany, Victims: len(r.victims), Most: int64(p.cfg.VictimsMax)}}
	}
	return choice{victims: append(p.victims[:0], r.victims...), proof: Proof{Stopped: r.stopped, Steps: p.search.steps}}
}

// whyNotSpared says what leaves too little: budgets, or else floors.
func (p sparing) whyNotSpared() Bound {
	within := p.keepingFloors()
	within.violations = math.MaxInt
	if p.budgeted() && p.search.spare(p.ranks(), within, p.fits) == yes {
		return OverBudget
	}
	return TooLittle
}

// reprievePart makes as much room as the pool holds, where that is better than nothing.
func (p sparing) reprievePart() choice {
	r := &p.reprieval
	p.fillPool(p.keepingFloors(), p.budgeted())
	p.partial = true
	r.wanted = append(r.wanted[:0], p.need...)
	for k, sum := range r.sums {
		p.need[k] = min(p.need[k], sum)
	}
	c := p.chooseSpared(p.spareSome(r.pool, boundless))
	copy(p.need, r.wanted)
	return c
}

// fitsWithoutAll reports whether the resource manager agrees if all candidates are
// removed; if not, that is the reason of the plan.
func (p sparing) fitsWithoutAll() bool {
	if p.fits == nil {
		return true
	}
	err := p.fits(p.keysOf(p.ranks()))
	if err != nil {
		p.refusal = err.Error()
	}
	return err == nil
}

// fillPool fills the pool, from the least important candidate on, with those within a limit that
// keep the floors and, if budgeted is set, the budgets.
func (p *plan) fillPool(within limit, budgeted bool) {
	r, d := &p.reprieval, len(p.need)
	r.pool, r.filled = r.pool[:0], true
	r.sums = slices.Grow(r.sums[:0], d)[:d]
	clear(r.sums)
	p.fillFloors()
	p.fillBudgets()
	for i := range p.ranked {
		e := &p.ranked[i]
		if !within.allows(e) || !p.checkFloors(e.Candidate) {
			continue
		}
		if budgeted && p.spend(e.Candidate) {
			p.unspend(e.Candidate)
			continue
		}
		p.charge(e.Candidate, 1)
		r.pool = append(r.pool, i)
		for k, held := range e.held {
			r.sums[k] = add(r.sums[k], held)
		}
	}
}

// reachable is the most of the need that can be freed: if floors restrict it, what the
// pool holds.
func (p *plan) reachable() []int64 {
	if p.reprieval.filled {
		return p.reprieval.sums
	}
	return p.total
}

// exceedFewer replaces the victims by others if those exceed fewer budgets. Of all victims
// that exceed as few, it takes those of the least importance: a budget never spares a
// candidate that it allows to go at the price of a more important one. It is no if victims
// must exceed none, and there are no such.
//
// With StrictPriority budgets decide between candidates of the same priority only.
func (p sparing) exceedFewer() answer {
	r := &p.reprieval
	before := p.countViolations(r.victims)
	switch {
	case before == 0:
		return yes
	case p.cfg.Budgets == StrictPriority:
		p.exceedLater(before)
		return yes
	case p.cfg.Budgets == PreferBudgets:
		p.searchFewer(before)
		return yes
	}
	return p.spareSome(p.ranks(), p.keepingFloors())
}

// searchFewer looks by halves for the fewest victims that exceed a budget. Where a search is
// stopped, sparing first those that exceed one may help as well.
func (p sparing) searchFewer(before int) {
	r := &p.reprieval
	within := p.keepingFloors()
	for low := 0; low < before; {
		within.violations = (low + before) / 2
		if p.spareSome(p.ranks(), within) == yes {
			before = p.countViolations(r.victims)
		} else {
			low = within.violations + 1
		}
	}
	if r.stopped {
		p.exceedLater(before)
	}
}

// exceedLater spares the candidates of the pool that exceed a budget before the others, with
// StrictPriority before others of their priority, and takes the result if it is better.
func (p sparing) exceedLater(before int) {
	r := &p.reprieval
	if !p.reached(r.sums) {
		return
	}
	p.fillBudgets()
	for i := range p.ranked {
		p.ranked[i].violating = slices.Contains(r.pool, i) && p.spend(p.ranked[i].Candidate)
	}
	r.order = append(r.order[:0], r.pool...)
	for from, to := 0, 0; from < len(r.order); from = to {
		for to++; to < len(r.order) && (p.cfg.Budgets != StrictPriority || p.ranked[r.order[to]].Priority == p.ranked[r.order[from]].Priority); {
			to++
		}
		p.orderLater(r.order[from:to])
	}
	saved := slices.Clone(r.victims)
	if p.spareSome(r.order, boundless) != yes || p.countViolations(r.victims) >= before {
		r.victims = append(r.victims[:0], saved...)
	}
}

// orderLater puts those behind the others that exceed a budget.
func (p sparing) orderLater(list []int) {
	slices.SortStableFunc(list, func(a, b int) int {
		switch x, y := p.ranked[a].violating, p.ranked[b].violating; {
		case x == y:
			return 0
		case y:
			return -1
		default:
			return 1
		}
	})
}

// lowerPriority has reprieve choose again for a required node. By itself it puts back the
// highest class first, and may so spare a candidate of the worst class that is chosen and take one
// of a lower class and a higher priority. Like the other strategies it should take the lowest
// priority within the lowest classes that suffice. What exceeds more budgets is not chosen.
func (p sparing) lowerPriority() {
	r := &p.reprieval
	worst := p.limitOf(p.victims)
	before := p.outcome
	before.victims = slices.Clone(p.victims)
	for _, priority := range p.priorities() {
		if priority >= worst.priority {
			break
		}
		p.fillPool(limit{class: worst.class, priority: priority}, false)
		if !p.reached(r.sums) || p.spareSome(r.pool, boundless) != yes {
			continue
		}
		if p.took(Reprieve, p.chooseSpared(yes)) && p.violations <= before.violations {
			return
		}
		break
	}
	p.outcome = before
	copy(r.sums, p.total)
}
