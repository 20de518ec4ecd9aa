package preemptor

import (
	"math/bits"
	"slices"
)

// A reprieval is the state of the strategy reprieve: which candidates are in the
// pool, which of them are removed, and how much more they hold than is needed.
type reprieval struct {
	pool, removed []bool   // by plan.ranked
	sums          []int64  // what the pool holds of the need, saturating
	excess        []wide   // what the removed ones hold in addition to the need
	asking        bool     // plan.fits is asked before a candidate is put back
	keys          []string // scratch
	search        fewest
}

// reprieve removes the whole pool, and then puts back the most important
// candidate that is not needed, and so on down to the least important. So every
// victim is necessary: without it the ask does not fit. The number of victims
// need not be the least. Candidates that would exceed a budget are put back
// first, see violatingFirst.
//
// If all candidates together break a floor, the pool is filled from the least
// important on with those that break none; what is put back keeps the floors.
// Budgets that must not be broken work the same way. If such a pool is too small,
// a search looks for other victims that break no budget.
//
// The resource manager is asked as rarely as possible: first whether the victims
// chosen by amounts are enough for it, and only if not, before each candidate
// that can stay by amounts. Both ways have the same result if a further victim
// never makes the ask infeasible.
func (p *plan) reprieve() choice {
	w, searched := &p.reprieval, false
	p.fillPool(p.budgeted())
	if searched = p.budgeted() && !p.rules.partial && !p.reached(w.sums); searched {
		p.fillPool(false)
	}
	if !p.reached(w.sums) && !p.rules.partial {
		return choice{failure: Failure{Why: TooLittle}}
	}
	p.partial = !p.reached(w.sums)
	violations, ok := p.reprievePool(false), p.fits == nil
	if !ok && len(p.need) > 0 {
		ok = p.fits(p.removedKeys(-1)) == nil
	}
	if !ok {
		copy(w.removed, w.pool)
		if err := p.fits(p.removedKeys(-1)); err != nil {
			p.refusal = err.Error()
			return choice{failure: Failure{Why: NotFitting}}
		}
		violations = p.reprievePool(true)
	}
	if violations > 0 && searched {
		return choice{failure: Failure{Why: OverBudget}}
	}
	victims := p.victims[:0]
	for i, removed := range w.removed {
		if removed {
			victims = append(victims, i)
		}
	}
	if p.rules.configured && len(victims) > p.cfg.VictimsMax {
		return choice{failure: Failure{Why: TooMany, Victims: len(victims), Most: int64(p.cfg.VictimsMax)}}
	}
	return choice{victims: victims}
}

// reprievePool removes the whole pool and puts back what is not needed; if asking
// is set, the resource manager is asked too. It returns how many victims violate
// a budget, see violateFewer.
func (p *plan) reprievePool(asking bool) int {
	w := &p.reprieval
	w.asking = asking
	copy(w.removed, w.pool)
	p.sumRemoved()
	if len(p.node.Budgets) > 0 {
		p.flagRemoved()
	}
	p.reprieveAll()
	return p.violateFewer()
}

// fillPool fills the pool, from the least important candidate on, with those that
// keep the floors and, if budgeted is set, the budgets.
func (p *plan) fillPool(budgeted bool) {
	w, d := &p.reprieval, len(p.need)
	w.pool = slices.Grow(w.pool[:0], len(p.ranked))[:len(p.ranked)]
	w.sums = slices.Grow(w.sums[:0], d)[:d]
	clear(w.sums)
	p.fillFloors()
	p.fillBudgets()
	for i := range p.ranked {
		e := &p.ranked[i]
		if w.pool[i] = p.checkFloors(e.Candidate); !w.pool[i] {
			continue
		}
		if budgeted && p.spend(e.Candidate) {
			p.unspend(e.Candidate)
			w.pool[i] = false
			continue
		}
		p.charge(e.Candidate, 1)
		for k, held := range e.held {
			w.sums[k] = add(w.sums[k], held)
		}
	}
	w.removed = append(w.removed[:0], w.pool...)
	p.pooled = true
}

// sumRemoved computes what the removed candidates hold in addition to the need.
// Of a kind that cannot be freed completely there is no excess: all candidates
// that hold it stay removed.
func (p *plan) sumRemoved() {
	w, d := &p.reprieval, len(p.need)
	w.excess = slices.Grow(w.excess[:0], d)[:d]
	clear(w.excess)
	for i := range p.ranked {
		if !w.removed[i] {
			continue
		}
		for k, held := range p.ranked[i].held {
			w.excess[k].add(held)
		}
	}
	for k, need := range p.need {
		w.excess[k].sub(min(need, w.sums[k]))
	}
}

// reprieveAll puts back the candidates that are not needed: all in one pass, or,
// with StrictPriority, one priority after the other, the highest first.
func (p *plan) reprieveAll() {
	if len(p.node.Budgets) == 0 || p.cfg.Budgets != StrictPriority {
		p.violatingFirst(0, len(p.ranked))
		return
	}
	for to := len(p.ranked); to > 0; {
		from := to - 1
		for from > 0 && p.ranked[from-1].Priority == p.ranked[from].Priority {
			from--
		}
		p.violatingFirst(from, to)
		to = from
	}
}

// violatingFirst tries the candidates at from up to to, the most important first:
// those that would exceed a budget, and then the others.
func (p *plan) violatingFirst(from, to int) {
	if len(p.node.Budgets) > 0 {
		for i := to - 1; i >= from; i-- {
			if p.ranked[i].violating {
				p.tryReprieve(i)
			}
		}
	}
	for i := to - 1; i >= from; i-- {
		p.tryReprieve(i)
	}
}

// tryReprieve puts i back if the others are enough without it.
func (p *plan) tryReprieve(i int) {
	w, held := &p.reprieval, p.ranked[i].held
	if !w.removed[i] {
		return
	}
	for k := range held {
		if w.excess[k].less(held[k]) {
			return
		}
	}
	if w.asking && !p.ranked[i].Elsewhere && p.fits(p.removedKeys(i)) != nil {
		return
	}
	w.removed[i] = false
	for k := range held {
		w.excess[k].sub(held[k])
	}
}

// removedKeys are the keys of the removed and the releasing allocations of the
// node, except the candidate at but.
func (p *plan) removedKeys(but int) []string {
	keys := append(p.reprieval.keys[:0], p.releasingKeys...)
	for i, removed := range p.reprieval.removed {
		if removed && i != but && !p.ranked[i].Elsewhere {
			keys = append(keys, p.ranked[i].Key)
		}
	}
	p.reprieval.keys = keys
	return keys
}

// keysOf is removedKeys for victims.
func (p *plan) keysOf(victims []int) []string {
	keys := append(p.reprieval.keys[:0], p.releasingKeys...)
	for _, i := range victims {
		if !p.ranked[i].Elsewhere {
			keys = append(keys, p.ranked[i].Key)
		}
	}
	p.reprieval.keys = keys
	return keys
}

// wide is a sum of quantities, none of them negative, that cannot overflow.
type wide struct{ hi, lo uint64 }

func (w *wide) add(v int64) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, uint64(v), 0)
	w.hi += carry
}

// sub subtracts v, which is not more than the sum.
func (w *wide) sub(v int64) {
	var borrow uint64
	w.lo, borrow = bits.Sub64(w.lo, uint64(v), 0)
	w.hi -= borrow
}

func (w *wide) less(v int64) bool { return w.hi == 0 && w.lo < uint64(v) }
