package preemptor

import (
	"math/bits"
	"slices"
)

// A reprieval is what the strategy reprieve works on: who is in the pot, who of
// them is gone, and how much more they hold than is needed.
type reprieval struct {
	pot, gone []bool   // by plan.ranked
	sums      []int64  // what the pot holds of the need, saturating
	excess    []wide   // what those hold who are gone, beyond the need
	asking    bool     // plan.fits has a say in who is put back
	keys      []string // scratch
	search    fewest
}

// reprieve takes everybody, and then lets the most important stay whose place
// is not needed, and so on down to the least. So nobody goes who could stay
// alone, though the result need not be the fewest. Who would exceed a budget is
// asked first, see violatingFirst.
//
// Where all of them together break a floor, the pot is filled from the least
// important on with whoever breaks none; whatever is put back keeps the floors.
// The same goes for budgets that must not be broken; if they leave too little
// that way, others are looked for who break none.
//
// The resource manager is asked as little as will do: whether those fit who go
// by amounts, and only if not, before each who may stay by amounts. If it never
// minds anybody more who goes, both come to the same.
func (p *plan) reprieve() choice {
	w, searched := &p.put, false
	p.fillPot(p.budgeted())
	if searched = p.budgeted() && !p.terms.partial && !p.reached(w.sums); searched {
		p.fillPot(false)
	}
	if !p.reached(w.sums) && !p.terms.partial {
		return choice{failure: Failure{Why: TooLittle}}
	}
	p.partial = !p.reached(w.sums)
	violations, ok := p.putBack(false), p.fits == nil
	if !ok && len(p.need) > 0 {
		ok = p.fits(p.keysGone(-1)) == nil
	}
	if !ok {
		copy(w.gone, w.pot)
		if err := p.fits(p.keysGone(-1)); err != nil {
			p.refusal = err.Error()
			return choice{failure: Failure{Why: NotFitting}}
		}
		violations = p.putBack(true)
	}
	if violations > 0 && searched {
		return choice{failure: Failure{Why: OverBudget}}
	}
	victims := p.victims[:0]
	for i, gone := range w.gone {
		if gone {
			victims = append(victims, i)
		}
	}
	if p.terms.configured && len(victims) > p.cfg.VictimsMax {
		return choice{failure: Failure{Why: TooMany, Victims: len(victims), Most: int64(p.cfg.VictimsMax)}}
	}
	return choice{victims: victims}
}

// putBack takes the whole pot and puts back whoever is not needed, asking the
// resource manager or not. It returns how many violate a budget, see
// violateFewer.
func (p *plan) putBack(asking bool) int {
	w := &p.put
	w.asking = asking
	copy(w.gone, w.pot)
	p.addUp()
	if len(p.node.Budgets) > 0 {
		p.flagGone()
	}
	p.letStay()
	return p.violateFewer()
}

// fillPot says who may go at all, from the least important on: whoever keeps the
// floors and, if so asked, the budgets.
func (p *plan) fillPot(budgeted bool) {
	w, d := &p.put, len(p.need)
	w.pot = slices.Grow(w.pot[:0], len(p.ranked))[:len(p.ranked)]
	w.sums = slices.Grow(w.sums[:0], d)[:d]
	clear(w.sums)
	p.fillFloors()
	p.fillBudgets()
	for i := range p.ranked {
		e := &p.ranked[i]
		if w.pot[i] = p.mayGo(e.Candidate); !w.pot[i] {
			continue
		}
		if budgeted && p.spend(e.Candidate) {
			p.unspend(e.Candidate)
			w.pot[i] = false
			continue
		}
		p.charge(e.Candidate, 1)
		for k, held := range e.held {
			w.sums[k] = add(w.sums[k], held)
		}
	}
	w.gone = append(w.gone[:0], w.pot...)
	p.pooled = true
}

// addUp works out what those who are gone hold beyond the need. Of what cannot
// be reached there is no excess: nobody stays who holds any of it.
func (p *plan) addUp() {
	w, d := &p.put, len(p.need)
	w.excess = slices.Grow(w.excess[:0], d)[:d]
	clear(w.excess)
	for i := range p.ranked {
		if !w.gone[i] {
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

// letStay asks everybody who is gone whether they may stay: all at once, or,
// with StrictPriority, one priority after the other, the highest first.
func (p *plan) letStay() {
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

// violatingFirst asks those from one place to before another, the most
// important first: those who would exceed a budget, and then the others.
func (p *plan) violatingFirst(from, to int) {
	if len(p.node.Budgets) > 0 {
		for i := to - 1; i >= from; i-- {
			if p.ranked[i].violating {
				p.stay(i)
			}
		}
	}
	for i := to - 1; i >= from; i-- {
		p.stay(i)
	}
}

// stay puts i back if the others are enough without it.
func (p *plan) stay(i int) {
	w, held := &p.put, p.ranked[i].held
	if !w.gone[i] {
		return
	}
	for k := range held {
		if w.excess[k].less(held[k]) {
			return
		}
	}
	if w.asking && !p.ranked[i].Elsewhere && p.fits(p.keysGone(i)) != nil {
		return
	}
	w.gone[i] = false
	for k := range held {
		w.excess[k].sub(held[k])
	}
}

// keysGone is who has left the node if all go who are gone but one: those who
// leave already, too.
func (p *plan) keysGone(but int) []string {
	keys := append(p.put.keys[:0], p.leavers...)
	for i, gone := range p.put.gone {
		if gone && i != but && !p.ranked[i].Elsewhere {
			keys = append(keys, p.ranked[i].Key)
		}
	}
	p.put.keys = keys
	return keys
}

// keysOf is the same for victims.
func (p *plan) keysOf(victims []int) []string {
	keys := append(p.put.keys[:0], p.leavers...)
	for _, i := range victims {
		if !p.ranked[i].Elsewhere {
			keys = append(keys, p.ranked[i].Key)
		}
	}
	p.put.keys = keys
	return keys
}

// wide is a sum of quantities, none of them negative, that cannot overflow.
type wide struct{ hi, lo uint64 }

func (w *wide) add(v int64) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, uint64(v), 0)
	w.hi += carry
}

// sub takes away what is not more than there is.
func (w *wide) sub(v int64) {
	var borrow uint64
	w.lo, borrow = bits.Sub64(w.lo, uint64(v), 0)
	w.hi -= borrow
}

func (w *wide) less(v int64) bool { return w.hi == 0 && w.lo < uint64(v) }
