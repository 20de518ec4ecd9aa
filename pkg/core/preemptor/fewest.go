package preemptor

import (
	"cmp"
	"slices"
)

// fewest is a search for victims that violate fewer budgets than those of the
// strategy reprieve.
//
// A victim never reduces the violations of other victims, and never causes a
// violation of one that comes before it in order. So candidates that count only
// for budgets that are large enough for the whole pool are removed without any
// violation. The others, the contended ones, are taken or left from the least
// important on. The violations of those decided so far never change.
type fewest struct {
	contended   []int   // of plan.ranked
	rest        []int64 // of the need, before each of the contended
	tails       []int64 // what each of the contended and those after it hold
	taken, best []bool  // by contended
	least       int     // violations of the best
	bound       int     // the least violations of any victims
	steps       int

	counts []int64 // scratch, like the next two
	parts  []part
	saved  []bool
}

// A part is what one of the contended holds of the need, and the first of its
// budgets that is too small.
type part struct {
	budget int32
	held   int64
}

// fewestSteps is the number of steps after which the search stops. With up to 14
// candidates it always completes.
const fewestSteps = 1 << 15

// violateFewer replaces the removed candidates by others of the pool if those
// violate fewer budgets; then the ones that are not needed are put back. It
// returns how many violate a budget. It does nothing if budgets only decide
// between equals.
func (r *reprieval) violateFewer() int {
	if len(r.node.Budgets) == 0 || r.cfg.Budgets == StrictPriority {
		return 0
	}
	s := &r.search
	violations := r.flagRemoved()
	if violations == 0 {
		return 0
	}
	r.findContended()
	s.least, s.bound = violations, r.boundViolations()
	if r.budgeted() {
		s.least = 1 // fewer are of no use
	}
	if s.bound >= s.least || !r.searchFewer() {
		return violations
	}
	s.saved = append(s.saved[:0], r.removed...)
	copy(r.removed, r.pool)
	for at, i := range s.contended {
		r.removed[i] = s.best[at]
	}
	if r.asking && r.fits(r.removedKeys(-1)) != nil {
		copy(r.removed, s.saved)
		return violations
	}
	r.sumRemoved()
	r.flagRemoved()
	r.reprieveAll()
	return r.flagRemoved()
}

// flagRemoved flags the removed candidates that violate a budget, and counts
// them.
func (r *reprieval) flagRemoved() int {
	r.fillBudgets()
	count := 0
	for i, removed := range r.removed {
		e := &r.ranked[i]
		if e.violating = removed && r.spend(e.Candidate); e.violating {
			count++
		}
	}
	return count
}

// findContended finds the contended candidates, and what the others leave of the
// need.
func (r *reprieval) findContended() {
	s, d := &r.search, len(r.need)
	s.counts = slices.Grow(s.counts[:0], len(r.node.Budgets))[:len(r.node.Budgets)]
	clear(s.counts)
	for i := range r.ranked {
		if !r.pool[i] {
			continue
		}
		for _, b := range r.ranked[i].Budgets {
			s.counts[b]++
		}
	}
	s.contended, s.rest = s.contended[:0], s.rest[:0]
	for k, need := range r.need {
		s.rest = append(s.rest, min(need, r.sums[k]))
	}
	for i := range r.ranked {
		switch e := &r.ranked[i]; {
		case !r.pool[i]:
		case r.contendedBudget(e) >= 0:
			s.contended = append(s.contended, i)
		default:
			for k, held := range e.held {
				s.rest[k] = max(s.rest[k]-held, 0)
			}
		}
	}
	n := len(s.contended)
	s.rest = slices.Grow(s.rest, n*d)[:(n+1)*d]
	s.tails = slices.Grow(s.tails[:0], (n+1)*d)[:(n+1)*d]
	clear(s.tails[n*d:])
	for at := n - 1; at >= 0; at-- {
		for k, held := range r.ranked[s.contended[at]].held {
			s.tails[at*d+k] = add(s.tails[at*d+d+k], held)
		}
	}
}

// contendedBudget is the first budget of e that is too small for the whole pool,
// or -1.
func (r *reprieval) contendedBudget(e *eligible) int32 {
	for _, b := range e.Budgets {
		if r.search.counts[b] > int64(r.node.Budgets[b].Allowed) {
			return b
		}
	}
	return -1
}

// boundViolations is a lower bound of the violations. Of every budget the largest
// candidates use the allowance; the rest of the need must come from violations.
func (r *reprieval) boundViolations() int {
	s := &r.search
	bound := 0
	for k, open := range s.rest[:len(r.need)] {
		s.parts = s.parts[:0]
		for _, i := range s.contended {
			e := &r.ranked[i]
			s.parts = append(s.parts, part{r.contendedBudget(e), e.held[k]})
		}
		slices.SortFunc(s.parts, func(a, b part) int {
			return cmp.Or(cmp.Compare(a.budget, b.budget), cmp.Compare(b.held, a.held))
		})
		largest, free := int64(0), 0
		for at, one := range s.parts {
			if at == 0 || s.parts[at-1].budget != one.budget {
				largest, free = max(largest, one.held), r.node.Budgets[one.budget].Allowed
			}
			if free > 0 {
				open, free = max(open-one.held, 0), free-1
			}
		}
		if open > 0 && largest > 0 {
			bound = max(bound, int((open-1)/largest)+1)
		}
	}
	return bound
}

// searchFewer reports whether some of the contended are enough with fewer
// violations; they are then the best.
func (r *reprieval) searchFewer() bool {
	s := &r.search
	n := len(s.contended)
	s.taken = slices.Grow(s.taken[:0], n)[:n]
	s.best = slices.Grow(s.best[:0], n)[:n]
	clear(s.taken)
	s.steps = 0
	before := s.least
	r.fillBudgets()
	r.tryFewer(0, 0)
	return s.least < before
}

// tryFewer takes or leaves the contended from this position on; those before it
// cause this number of violations.
func (r *reprieval) tryFewer(at, violations int) {
	s, d := &r.search, len(r.need)
	rest := s.rest[at*d : at*d+d]
	if s.steps++; s.steps > fewestSteps || violations >= s.least || s.least == s.bound {
		return
	}
	enough := true
	for k, open := range rest {
		if open > s.tails[at*d+k] {
			return
		}
		enough = enough && open == 0
	}
	if enough {
		s.least = violations
		copy(s.best, s.taken)
		return
	}
	e := &r.ranked[s.contended[at]]
	next := s.rest[at*d+d : at*d+2*d]
	for k, open := range rest {
		next[k] = max(open-e.held[k], 0)
	}
	s.taken[at] = true
	more := violations
	if r.spend(e.Candidate) {
		more++
	}
	r.tryFewer(at+1, more)
	r.unspend(e.Candidate)
	s.taken[at] = false

	leave := at + 1 // and the equal ones with it
	for leave < len(s.contended) && r.sameToBudgets(e, &r.ranked[s.contended[leave]]) {
		leave++
	}
	copy(s.rest[leave*d:leave*d+d], rest)
	r.tryFewer(leave, violations)
}

func (r *reprieval) sameToBudgets(a, b *eligible) bool {
	return slices.Equal(a.held, b.held) && slices.Equal(a.Budgets, b.Budgets)
}
