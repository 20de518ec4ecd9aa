package preemptor

// clausesMax is how often the resource manager may refuse what an exact search
// found.
const clausesMax = 64

// An exactPlan is a plan whose victims are searched among all sets of candidates.
type exactPlan struct{ *plan }

func exactly(p *plan) exactPlan { return exactPlan{p} }

// searchExactly looks for victims that cover the need, keep the floors, violate at
// most limit budgets, and to which the resource manager agrees. If there are any,
// those of the least importance are removed.
//
// What the resource manager refuses, it refuses with fewer victims too. So from a
// refusal follows a condition: one of the candidates that stay even if as many as
// possible go must be a victim. With it the search begins again.
func (p exactPlan) searchExactly(limit int) answer {
	x, r := &p.exact, &p.reprieval
	r.all = r.all[:0]
	for i := range p.ranked {
		r.all = append(r.all, i)
	}
	for range clausesMax {
		x.begin(r.all, limit)
		if a := x.search(true); a != yes {
			return a
		}
		p.remove(x.best)
		if p.fits == nil || p.fits(r.removedKeys(-1)) == nil {
			return yes
		}
		if !p.learnClause() {
			return no
		}
	}
	return unknown
}

func (p exactPlan) remove(victims []int) {
	clear(p.reprieval.removed)
	for _, i := range victims {
		p.reprieval.removed[i] = true
	}
}

// learnClause removes as many more candidates as possible, the most important
// first, such that the resource manager still refuses the ask. One of those that
// stay must go. It reports whether there is any.
func (p exactPlan) learnClause() bool {
	r, x := &p.reprieval, &p.exact
	x.clause = append(x.clause[:0], r.removed...)
	found := false
	for i := len(p.ranked) - 1; i >= 0; i-- {
		x.clause[i] = false
		if r.removed[i] || p.ranked[i].Elsewhere {
			continue
		}
		r.removed[i] = true
		if p.fits(r.removedKeys(-1)) == nil {
			r.removed[i], x.clause[i], found = false, true, true
		}
	}
	x.clauses = append(x.clauses, x.clause...)
	return found
}

// whyNone says what leaves too little: budgets, or else floors.
func (p exactPlan) whyNone(limit int) Bound {
	if limit >= 0 && p.searchExactly(anyViolations) == yes {
		return OverBudget
	}
	return TooLittle
}

// failureOf says why a search found no victims.
func (p exactPlan) failureOf(why Bound) Failure {
	if why == TooLong {
		return Failure{Why: TooLong, Most: p.exact.stepsMax()}
	}
	return Failure{Why: why}
}
