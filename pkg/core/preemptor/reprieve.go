package preemptor

import (
	"math/bits"
	"slices"
)

// A reprieval is the state of the strategy reprieve: which candidates are in the
// pool, which of them are removed, and how much more they hold than is needed.
type reprieval struct {
	*problem
	pool, removed []bool   // by plan.ranked
	sums          []int64  // what the pool holds of the need, saturating
	excess        []wide   // what the removed ones hold in addition to the need
	asking        bool     // plan.fits is asked before a candidate is put back
	refusal       error    // why the resource manager refuses the ask even without the pool
	keys          []string // scratch
	wanted        []int64  // scratch
	all           []int    // every candidate
	search        fewest
	filled        bool // the pool is filled
}

// reprieve removes the whole pool, and then puts back the most important
// candidate that is not needed, and so on down to the least important. So every
// victim is necessary: without it the ask does not fit. The number of victims
// need not be the least.
//
// If all candidates together break a floor, the pool is filled from the least
// important on with those that break none; what is put back keeps the floors. If
// such a pool is too small, or is refused, an exact search looks for other
// victims. If the victims violate budgets, see violateFewer.
//
// The resource manager is asked as rarely as possible: first whether the victims
// chosen by amounts are enough for it, and only if not, before each candidate
// that can stay by amounts. Both ways have the same result if a further victim
// never makes the ask infeasible.
func (p *plan) reprieve() choice {
	r := &p.reprieval
	p.exact.reset(&p.problem)
	r.fillPool(r.highestLimit(), false)
	switch {
	case r.reached(r.sums) && r.putBack():
		c := p.chooseRemoved()
		if len(c.victims) == 0 && p.rules.partial {
			c = p.reprievePart()
		}
		return c
	case !r.reached(p.total):
		return p.reprievePart()
	case !p.fitsWithoutAll():
		return choice{failure: Failure{Why: NotFitting}}
	}
	limit, why := anyViolations, TooLittle
	if p.budgeted() {
		limit = 0
	}
	switch exactly(p).searchExactly(limit) {
	case yes:
		copy(r.sums, p.total)
		return p.chooseRemoved()
	case unknown:
		why = TooLong
	case no:
		why = exactly(p).whyNone(limit)
	}
	if p.rules.partial {
		return p.reprievePart()
	}
	return choice{failure: exactly(p).failureOf(why)}
}

// chooseRemoved chooses the removed candidates, or others that violate fewer
// budgets.
func (p *plan) chooseRemoved() choice {
	r := &p.reprieval
	if why, ok := p.violateFewer(); !ok {
		return choice{failure: exactly(p).failureOf(why)}
	}
	victims := p.victims[:0]
	for i, removed := range r.removed {
		if removed {
			victims = append(victims, i)
		}
	}
	if p.rules.configured && len(victims) > p.cfg.VictimsMax {
		return choice{failure: Failure{Why: TooMany, Victims: len(victims), Most: int64(p.cfg.VictimsMax)}}
	}
	return choice{victims: victims, proof: Proof{Stopped: p.exact.unproved, Steps: p.exact.steps}}
}

// reprievePart makes as much room as the pool holds, where that is better than
// nothing.
func (p *plan) reprievePart() choice {
	r := &p.reprieval
	r.fillPool(r.highestLimit(), p.budgeted())
	p.partial = true
	r.wanted = append(r.wanted[:0], p.need...)
	for k, sum := range r.sums {
		p.need[k] = min(p.need[k], sum)
	}
	r.reprievePool(false, false)
	c := p.chooseRemoved()
	copy(p.need, r.wanted)
	return c
}

// putBack puts back what is not needed. It reports whether the resource manager
// agrees to what is removed then.
func (r *reprieval) putBack() bool {
	r.refusal = nil
	if r.fits == nil || len(r.need) > 0 {
		r.reprievePool(false, false)
		if r.fits == nil || r.fits(r.removedKeys(-1)) == nil {
			return true
		}
	}
	copy(r.removed, r.pool)
	if r.refusal = r.fits(r.removedKeys(-1)); r.refusal != nil {
		return false
	}
	r.reprievePool(true, false)
	return true
}

// fitsWithoutAll reports whether the resource manager agrees if all candidates are
// removed; if not, that is the reason of the plan.
func (p *plan) fitsWithoutAll() bool {
	r := &p.reprieval
	if p.fits == nil {
		return true
	}
	if r.refusal == nil || slices.Contains(r.pool, false) {
		for i := range r.removed {
			r.removed[i] = true
		}
		r.refusal = p.fits(r.removedKeys(-1))
	}
	if r.refusal != nil {
		p.refusal = r.refusal.Error()
	}
	return r.refusal == nil
}

// reprievePool removes the whole pool and puts back what is not needed; if asking
// is set, the resource manager is asked too. If budgets is set, those that violate
// a budget are put back first.
func (r *reprieval) reprievePool(asking, budgets bool) {
	r.asking = asking
	copy(r.removed, r.pool)
	r.sumRemoved()
	if !budgets {
		for i := len(r.ranked) - 1; i >= 0; i-- {
			r.tryReprieve(i)
		}
		return
	}
	r.flagRemoved()
	r.reprieveAll()
}

// fillPool fills the pool, from the least important candidate on, with those within a limit that
// keep the floors and, if budgeted is set, the budgets.
func (r *reprieval) fillPool(within limit, budgeted bool) {
	d := len(r.need)
	r.pool = slices.Grow(r.pool[:0], len(r.ranked))[:len(r.ranked)]
	r.sums = slices.Grow(r.sums[:0], d)[:d]
	clear(r.sums)
	r.fillFloors()
	r.fillBudgets()
	for i := range r.ranked {
		e := &r.ranked[i]
		if r.pool[i] = within.allows(e) && r.checkFloors(e.Candidate); !r.pool[i] {
			continue
		}
		if budgeted && r.spend(e.Candidate) {
			r.unspend(e.Candidate)
			r.pool[i] = false
			continue
		}
		r.charge(e.Candidate, 1)
		for k, held := range e.held {
			r.sums[k] = add(r.sums[k], held)
		}
	}
	r.removed = append(r.removed[:0], r.pool...)
	r.filled = true
}

// sumRemoved computes what the removed candidates hold in addition to the need.
// Of a kind that cannot be freed completely there is no excess: all candidates
// that hold it stay removed.
func (r *reprieval) sumRemoved() {
	d := len(r.need)
	r.excess = slices.Grow(r.excess[:0], d)[:d]
	clear(r.excess)
	for i := range r.ranked {
		if !r.removed[i] {
			continue
		}
		for k, held := range r.ranked[i].held {
			r.excess[k].add(held)
		}
	}
	for k, need := range r.need {
		r.excess[k].sub(min(need, r.sums[k]))
	}
}

// reprieveAll puts back the candidates that are not needed: all in one pass, or,
// with StrictPriority, one priority after the other, the highest first.
func (r *reprieval) reprieveAll() {
	if r.cfg.Budgets != StrictPriority {
		r.violatingFirst(0, len(r.ranked))
		return
	}
	for to := len(r.ranked); to > 0; {
		from := to - 1
		for from > 0 && r.ranked[from-1].Priority == r.ranked[from].Priority {
			from--
		}
		r.violatingFirst(from, to)
		to = from
	}
}

// violatingFirst tries the candidates at from up to to, the most important first:
// those that would exceed a budget, and then the others.
func (r *reprieval) violatingFirst(from, to int) {
	for i := to - 1; i >= from; i-- {
		if r.ranked[i].violating {
			r.tryReprieve(i)
		}
	}
	for i := to - 1; i >= from; i-- {
		r.tryReprieve(i)
	}
}

// tryReprieve puts i back if the others are enough without it.
func (r *reprieval) tryReprieve(i int) {
	held := r.ranked[i].held
	if !r.removed[i] {
		return
	}
	for k := range held {
		if r.excess[k].less(held[k]) {
			return
		}
	}
	if r.asking && !r.ranked[i].Elsewhere && r.fits(r.removedKeys(i)) != nil {
		return
	}
	r.removed[i] = false
	for k := range held {
		r.excess[k].sub(held[k])
	}
}

// removedKeys are the keys of the removed and the releasing allocations of the
// node, except the candidate at but.
func (r *reprieval) removedKeys(but int) []string {
	keys := append(r.keys[:0], r.releasingKeys...)
	for i, removed := range r.removed {
		if removed && i != but && !r.ranked[i].Elsewhere {
			keys = append(keys, r.ranked[i].Key)
		}
	}
	r.keys = keys
	return keys
}

// keysOf is removedKeys for victims.
func (r *reprieval) keysOf(victims []int) []string {
	keys := append(r.keys[:0], r.releasingKeys...)
	for _, i := range victims {
		if !r.ranked[i].Elsewhere {
			keys = append(keys, r.ranked[i].Key)
		}
	}
	r.keys = keys
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
