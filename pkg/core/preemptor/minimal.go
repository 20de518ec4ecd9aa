package preemptor

import (
	"math"
	"slices"
)

// minimal finds the optimal victims. They keep the lowest limit, whose fields are compared
// one after the other (see fields), then they are the fewest, and then the lightest (see weigh).
// Between victims that are equal in all of these, a fixed rule decides; of candidates that
// hold the same, the least important are taken first.
//
// A limit only says which candidates may be chosen, and how many of them break a rule.
// So each field is found by asking whether there are victims within lower ones. A limit
// that allows some still does if it is higher, so a binary search works.
func (p *plan) minimal() choice {
	p.weighAll()
	p.search.reset(&p.problem)
	p.search.setParts()
	p.limit, p.bound = p.highestLimit(), p.isBound()
	m := minimum{plan: p, most: min(p.victimsMax(), len(p.ranked)), pool: make([]int, 0, len(p.ranked))}
	if !m.find() {
		return choice{failure: m.whyNone()}
	}
	m.lowerLimit()
	m.fewest()
	m.lightest()
	proof := Proof{
		Proved: !m.open, Steps: p.search.steps,
		Contended: !p.rules.configured && p.countViolations(p.ranks()) > 0, Later: p.cfg.Budgets == StrictPriority,
	}
	return choice{victims: m.best, proof: proof}
}

// A minimum is a search from one criterion to the next.
type minimum struct {
	*plan
	most int   // victims allowed
	best []int // the best victims so far
	pool []int // scratch
	open bool  // a question was not answered
}

// find reports whether there are victims within the limit. If that is not known it is
// taken that there are none, and the result is not proved.
func (m *minimum) find() bool {
	if m.most < len(m.ranked) {
		return m.found(m.search.decide(m.pooled(), m.limit, m.most))
	}
	return m.found(m.search.spare(m.pooled(), m.limit, nil))
}

// found keeps the victims of a search.
func (m *minimum) found(a answer) bool {
	if a == yes {
		m.best = append(m.best[:0], m.search.kept...)
	}
	m.open = m.open || m.search.stopped
	return a == yes
}

// pooled are the candidates that the limit allows.
func (m *minimum) pooled() []int {
	m.pool = m.pool[:0]
	for i := range m.ranked {
		if m.limit.allows(&m.ranked[i]) {
			m.pool = append(m.pool, i)
		}
	}
	return m.pool
}

// lowerLimit lowers one field after the other.
func (m *minimum) lowerLimit() {
	for _, field := range m.fields() {
		worst := m.limitOf(m.best)
		switch l := &m.limit; field {
		case byBelow:
			m.lower(min(l.below, m.breaking(m.best)), func(at int) { l.below = at })
		case byViolations:
			m.lower(min(l.violations, m.countViolations(m.best)), func(at int) { l.violations = at })
		case byClass:
			m.lower(int(worst.class), func(at int) { l.class = Class(at) })
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

// fewest looks for fewer victims.
func (m *minimum) fewest() {
	m.best = m.drop(m.best, m.best)
	pool := m.pooled()
	for count := 1; count < len(m.best); count++ {
		if m.found(m.search.decide(pool, m.limit, count)) {
			return
		}
	}
}

// lightest looks for lighter victims of the same number.
func (m *minimum) lightest() {
	m.search.improve(m.pooled(), m.limit, m.best)
	m.open = m.open || m.search.stopped
	m.best = m.drop(m.search.kept, m.search.kept)
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
