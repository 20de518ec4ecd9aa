package preemptor

import (
	"cmp"
	"math"
	"slices"
)

// minimal finds the optimal victims. They keep the lowest limit, whose fields are compared
// one after the other (see fields), then they are the fewest, and then the lightest (see weigh). Of candidates that
// hold the same, the least important are taken first.
func (p *plan) minimal() choice {
	p.weighAll()
	m := p.newMinimum(min(p.victimsMax(), p.countOf(p.ranks())))
	if !m.find() {
		return choice{failure: m.whyNone()}
	}
	m.lowerLimit(m.fields())
	m.fewest()
	proof := Proof{
		Proved: !m.open, Steps: p.search.steps,
		Contended: !p.rules.configured && p.countViolations(p.ranks()) > 0, Later: p.cfg.Budgets == StrictPriority,
	}
	return choice{victims: m.best, proof: proof}
}

// reprieve finds the victims of the least importance: no others spare the most important of them,
// or else the next. So every victim is necessary, but their number need not be the least. It
// asks the resource manager.
//
// Only what exceeds budgets, or with RequiredNode any field of the limit, is lowered first: it is
// not for the order of importance to say. With StrictPriority budgets decide between candidates of
// the same priority only.
func (p *plan) reprieve() choice {
	m := p.newMinimum(p.countOf(p.ranks()))
	if len(p.short) == 0 && !m.fitsWithout(m.ranks()) { // asked first: one that cannot simulate shows it here
		return choice{failure: Failure{Why: NotFitting}}
	}
	if p.rules.configured {
		m.most = min(p.victimsMax(), m.most)
	}
	m.asks = p.fits != nil
	switch {
	case p.reached(p.total) && m.find():
	case p.rules.partial:
		return m.part()
	case p.refusal != "":
		return choice{failure: Failure{Why: NotFitting}}
	default:
		m.fillReachable()
		return choice{failure: m.whyNone()}
	}
	return m.spare()
}

// fitsWithout reports whether the resource manager agrees if some candidates are removed. If not,
// and they are all, that is the reason of the plan.
func (m *minimum) fitsWithout(some []int) bool {
	if m.fits == nil {
		return true
	}
	err := m.fits(m.keysOf(some))
	if err != nil && len(some) == len(m.ranked) {
		m.refusal = err.Error()
	}
	return err == nil
}

// A minimum is a search from one criterion to the next.
//
// A limit only says which candidates may be chosen, and how many of them break a rule.
// So each field is found by asking whether there are victims within lower ones. A limit
// that allows some still does if it is higher, so a binary search works.
type minimum struct {
	*plan
	most  int   // victims allowed
	best  []int // the best victims so far
	order []int // the candidates that the limit allows, the least harmful first
	open  bool  // a question was not answered
	asks  bool  // the resource manager has to agree
	later bool  // of one priority, those that exceed a budget come last
}

func (p *plan) newMinimum(most int) *minimum {
	p.search.reset(&p.problem)
	// Otherwise any of the candidates can be victims together.
	p.limit, p.bound = p.highestLimit(), p.floored() || p.countViolations(p.ranks()) > 0 || p.countStops(p.ranks()) > 0
	if p.bound && p.reporting {
		p.lawfulFirst(p.limit, p.ranks()) // which notes the guarantees that exclude a candidate
	}
	p.least = minimum{plan: p, most: most, best: p.least.best[:0], order: p.least.order[:0]}
	return &p.least
}

// find reports whether there are victims within the limit. If that is not known it is
// taken that there are none, and the result is not proved.
func (m *minimum) find() bool {
	m.fillOrder()
	m.search.must = nil
	a := m.search.find(m.order, m.limit, m.most)
	if a == yes && m.asks && m.fits(m.keysOf(m.search.kept)) != nil {
		a = m.findAsking()
	}
	return m.found(a)
}

// found keeps the victims of a search. Where it was stopped, the strategy multiple may find some:
// among many candidates a search would not come back to its first decisions.
func (m *minimum) found(a answer) bool {
	kept := m.search.kept
	m.open = m.open || m.search.stopped || a == unknown
	if a == unknown {
		kept = m.multiple().victims
		if len(kept) > 0 && m.countOf(kept) <= m.most && (!m.asks || m.fits(m.keysOf(kept)) == nil) {
			a = yes
		}
	}
	if a == yes {
		m.best = append(m.best[:0], kept...)
	}
	return a == yes
}

// findAsking finds victims with whose end the resource manager agrees. What it wants to end goes in
// any case: of several that it wants one of, the first that may go with all others that may. Where
// nothing else binds, that and the need are one question.
func (m *minimum) findAsking() answer {
	if !m.fitsWithout(m.order) {
		return no
	}
	order := m.order
	if m.bound {
		order, _ = m.lawfulFirst(m.limit, order)
	}
	q := m.newQuestions()
	must := q.least(order, make([]bool, len(m.ranked)), func(gone []bool) bool {
		return (m.bound || m.suffice(listed(gone))) && q.refusal(gone, true) == ""
	})
	if must == nil {
		return unknown
	}
	m.search.must = must
	a := m.search.find(m.order, m.limit, m.most)
	if a == no && m.bound && q.mayStay(must) {
		return unknown // others might be lawful
	}
	if a == yes && m.bound {
		kept := m.search.kept
		m.search.kept = dropped(kept, kept, func(some []int) bool { return m.suffice(some) && m.fitsWithout(some) })
	}
	return a
}

// fillOrder lists the candidates that the limit allows.
func (m *minimum) fillOrder() {
	m.order = m.order[:0]
	for i := range m.ranked {
		if m.limit.allows(&m.ranked[i]) && (m.limit.stops > 0 || !m.stopsAlone(m.ranked[i].Candidate)) {
			m.order = append(m.order, i)
		}
	}
	if m.later {
		m.budgetedLater()
	}
}

// budgetedLater puts those behind others of their priority that exceed a budget if all go.
func (m *minimum) budgetedLater() {
	m.flagBudgeted()
	slices.SortStableFunc(m.order, func(a, b int) int {
		x, y := &m.ranked[a], &m.ranked[b]
		switch {
		case x.Priority != y.Priority || x.violating == y.violating:
			return cmp.Compare(a, b)
		case y.violating:
			return -1
		default:
			return 1
		}
	})
}

// lowerLimit lowers one field after the other.
func (m *minimum) lowerLimit(fields []field) {
	for _, field := range fields {
		worst := limitOf(m.ranked, m.best)
		switch l := &m.limit; field {
		case byBelow:
			m.lower(min(l.below, m.breaking(m.best)), func(at int) { l.below = at })
		case byViolations:
			m.lower(min(l.violations, m.countViolations(m.best)), func(at int) { l.violations = at })
		case byClass:
			m.lower(int(worst.class), func(at int) { l.class = Class(at) })
		case byStops:
			m.lower(min(l.stops, m.countStops(m.best)), func(at int) { l.stops = at })
		case byPriority:
			priorities := m.priorities()
			m.lower(slices.Index(priorities, worst.priority), func(at int) { l.priority = priorities[at] })
		}
	}
}

// lower sets the least value with which there are victims; with the highest there are.
func (m *minimum) lower(high int, set func(at int)) {
	for low := 0; low < high; {
		middle := (low + high) / 2
		if set(middle); m.find() {
			high = middle
		} else {
			low = middle + 1
		}
	}
	set(high)
}

// priorities are those of the candidates, from the lowest on.
func (m *minimum) priorities() []int32 {
	all := make([]int32, len(m.ranked))
	for i := range m.ranked {
		all[i] = m.ranked[i].Priority
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// fewest looks for the fewest victims within the limit, and for the lightest of those.
func (m *minimum) fewest() {
	m.best = m.drop(m.best, m.best)
	m.fillOrder()
	m.lower(m.countOf(m.best), func(most int) { m.most = most })
	slices.SortStableFunc(m.order, func(a, b int) int { return cmp.Compare(m.ranked[a].weight, m.ranked[b].weight) })
	m.search.light = true
	m.found(m.search.find(m.order, m.limit, m.most))
	m.search.light = false
}

// spare lowers what importance does not compare, and takes the victims.
func (m *minimum) spare() choice {
	switch {
	case m.rules.configured:
		m.lowerLimit(m.fields())
	case m.cfg.Budgets == PreferBudgets:
		m.lowerLimit([]field{byViolations})
	case m.countViolations(m.best) > 0:
		m.fewerOfPriority()
	}
	m.fewerStops()
	return choice{victims: append(m.victims[:0], m.best...), proof: Proof{Stopped: m.open, Steps: m.search.steps}}
}

// fewerStops looks for victims that are no more important, exceed no more budgets and stop fewer groups.
func (m *minimum) fewerStops() {
	if m.rules.configured || m.countStops(m.best) == 0 {
		return
	}
	m.limit.violations, m.limit.importance = m.countViolations(m.best), math.MinInt64
	for _, i := range m.best {
		m.limit.importance = max(m.limit.importance, m.ranked[i].importance>>8)
	}
	m.lowerLimit([]field{byStops})
}

// fewerOfPriority looks for victims of the same priorities that exceed fewer budgets.
func (m *minimum) fewerOfPriority() {
	before := slices.Clone(m.best)
	m.later = true
	if !m.find() || m.countViolations(m.best) >= m.countViolations(before) {
		m.best = before
	}
}

// part makes as much room as the lawful candidates hold, where that is better than nothing.
func (m *minimum) part() choice {
	m.fillReachable()
	m.partial = true
	wanted := slices.Clone(m.need)
	for k, sum := range m.reachable() {
		m.need[k] = min(m.need[k], sum)
	}
	defer copy(m.need, wanted)
	if !m.find() {
		return choice{failure: m.whyNone()}
	}
	return m.spare()
}

// whyNone is why there are no victims: too many are needed, unless guarantees or budgets that
// must be kept leave too little.
func (m *minimum) whyNone() Failure {
	if m.open {
		return Failure{Why: TooLong, Most: m.search.steps}
	}
	defer func(l limit) { m.limit = l }(m.limit)
	m.limit.violations = math.MaxInt
	switch {
	case m.budgeted() && m.find():
		return Failure{Why: OverBudget}
	case m.floored() && !m.rules.configured:
		return Failure{Why: TooLittle}
	default:
		return Failure{Why: TooMany, Victims: m.most + 1, Most: int64(m.victimsMax())}
	}
}
