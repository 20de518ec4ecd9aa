package preemptor

import (
	"cmp"
	"slices"
)

// fewest is a search for victims who violate fewer budgets than those of the
// strategy reprieve do.
//
// Who goes never makes anybody violate less, and makes nobody violate who goes
// before it. So whoever counts only for budgets that are enough for the whole
// pot goes for nothing; the others, the contended, are taken or left from the
// least important on, and what those so far violate is known for good.
type fewest struct {
	contended []int   // of plan.ranked
	rest      []int64 // of the need, before each of the contended
	tails     []int64 // what those from each of the contended on hold
	on, best  []bool  // by contended
	least     int     // violations of the best
	bound     int     // no victims violate less
	steps     int

	members []int64 // scratch, as are the next two
	parts   []part
	saved   []bool
}

// A part is what one of the contended holds of the need, and its first budget
// of which there is not enough.
type part struct {
	budget int32
	held   int64
}

// fewestSteps is when the search is given up; among 14 candidates it never is.
const fewestSteps = 1 << 15

// violateFewer replaces those who are gone by others of the pot if they violate
// fewer budgets; then whoever of these is not needed may stay. It returns how
// many violate, unless budgets only matter between equals.
func (p *plan) violateFewer() int {
	if len(p.node.Budgets) == 0 || p.cfg.Budgets == StrictPriority {
		return 0
	}
	w, s := &p.put, &p.put.search
	violations := p.flagGone()
	if violations == 0 {
		return 0
	}
	p.contend()
	s.least, s.bound = violations, p.boundViolations()
	if p.budgeted() {
		s.least = 1 // fewer are of no use
	}
	if s.bound >= s.least || !p.searchFewer() {
		return violations
	}
	s.saved = append(s.saved[:0], w.gone...)
	copy(w.gone, w.pot)
	for at, i := range s.contended {
		w.gone[i] = s.best[at]
	}
	if w.asking && p.fits(p.keysGone(-1)) != nil {
		copy(w.gone, s.saved)
		return violations
	}
	p.addUp()
	p.flagGone()
	p.letStay()
	return p.flagGone()
}

// flagGone flags those of who are gone who violate a budget, and counts them.
func (p *plan) flagGone() int {
	p.fillBudgets()
	count := 0
	for i, gone := range p.put.gone {
		e := &p.ranked[i]
		if e.violating = gone && p.spend(e.Candidate); e.violating {
			count++
		}
	}
	return count
}

// contend finds out who is contended, and what the others leave of the need.
func (p *plan) contend() {
	w, s, d := &p.put, &p.put.search, len(p.need)
	s.members = slices.Grow(s.members[:0], len(p.node.Budgets))[:len(p.node.Budgets)]
	clear(s.members)
	for i := range p.ranked {
		if !w.pot[i] {
			continue
		}
		for _, b := range p.ranked[i].Budgets {
			s.members[b]++
		}
	}
	s.contended, s.rest = s.contended[:0], s.rest[:0]
	for k, need := range p.need {
		s.rest = append(s.rest, min(need, w.sums[k]))
	}
	for i := range p.ranked {
		switch e := &p.ranked[i]; {
		case !w.pot[i]:
		case p.contendedBudget(e) >= 0:
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
		for k, held := range p.ranked[s.contended[at]].held {
			s.tails[at*d+k] = add(s.tails[at*d+d+k], held)
		}
	}
}

// contendedBudget is the first budget of e of which there is not enough for the
// pot, or -1.
func (p *plan) contendedBudget(e *eligible) int32 {
	for _, b := range e.Budgets {
		if p.put.search.members[b] > int64(p.node.Budgets[b].Allowed) {
			return b
		}
	}
	return -1
}

// boundViolations is how many must violate at least: what is left of the need
// when of every budget the largest go that it allows is up to the others.
func (p *plan) boundViolations() int {
	s := &p.put.search
	bound := 0
	for k, open := range s.rest[:len(p.need)] {
		s.parts = s.parts[:0]
		for _, i := range s.contended {
			e := &p.ranked[i]
			s.parts = append(s.parts, part{p.contendedBudget(e), e.held[k]})
		}
		slices.SortFunc(s.parts, func(a, b part) int {
			return cmp.Or(cmp.Compare(a.budget, b.budget), cmp.Compare(b.held, a.held))
		})
		largest, free := int64(0), 0
		for at, one := range s.parts {
			if at == 0 || s.parts[at-1].budget != one.budget {
				largest, free = max(largest, one.held), p.node.Budgets[one.budget].Allowed
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

// searchFewer reports whether some of the contended are enough and violate
// less; they are the best then.
func (p *plan) searchFewer() bool {
	s := &p.put.search
	n := len(s.contended)
	s.on = slices.Grow(s.on[:0], n)[:n]
	s.best = slices.Grow(s.best[:0], n)[:n]
	clear(s.on)
	s.steps = 0
	before := s.least
	p.fillBudgets()
	p.tryFewer(0, 0)
	return s.least < before
}

// tryFewer takes and leaves the contended from one on; those before it violate
// so much.
func (p *plan) tryFewer(at, violations int) {
	s, d := &p.put.search, len(p.need)
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
		copy(s.best, s.on)
		return
	}
	e := &p.ranked[s.contended[at]]
	next := s.rest[at*d+d : at*d+2*d]
	for k, open := range rest {
		next[k] = max(open-e.held[k], 0)
	}
	s.on[at] = true
	more := violations
	if p.spend(e.Candidate) {
		more++
	}
	p.tryFewer(at+1, more)
	p.unspend(e.Candidate)
	s.on[at] = false

	leave := at + 1 // those who are the same, too
	for leave < len(s.contended) && p.sameToBudgets(e, &p.ranked[s.contended[leave]]) {
		leave++
	}
	copy(s.rest[leave*d:leave*d+d], rest)
	p.tryFewer(leave, violations)
}

func (p *plan) sameToBudgets(a, b *eligible) bool {
	return slices.Equal(a.held, b.held) && slices.Equal(a.Budgets, b.Budgets)
}
