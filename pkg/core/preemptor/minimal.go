package preemptor

import "slices"

// minimal finds the optimal victims: the fewest violations of budgets, the lowest
// worst class, then the lowest highest priority, then the fewest, then the least
// weight (see weigh). With StrictPriority violations are compared after priority.
// Between victims that are equal in all of these, a fixed rule decides; of
// candidates that hold the same, the least important are taken first.
//
// Class and priority only say which candidates may be chosen at all. So each is
// found by asking whether enough can be chosen among the less important ones. A
// pool that suffices still suffices with any candidate added, so a binary search
// works.
func (p *plan) minimal() choice {
	p.weighAll()
	p.exact.reset(&p.problem)
	m := minimum{search: newSearch(p), exact: &p.exact, most: min(p.victimsMax(), len(p.ranked)), proved: true}
	defer func() { p.exact.before += m.steps / stepsPerExact }()
	m.limitTo(anyViolations)
	worst, ok := m.lowestLimit()
	if !ok {
		return choice{failure: m.failure()}
	}
	m.lowestPriority(worst)
	proof := Proof{Contended: m.contended(), Later: p.cfg.Budgets == StrictPriority}
	if proof.Contended && proof.Later {
		m.fewestViolations()
	}
	proof.VictimsMin = m.fewest()
	for {
		proof.WeightMin = m.improve(len(m.kept))
		spared := p.dropUnneeded(slices.Clone(m.kept))
		if len(spared) == len(m.kept) {
			break
		}
		m.kept = append(m.kept[:0], spared...) // the search allowed more than the fewest
	}
	proof.Steps = min(m.steps, m.search.most) + p.exact.steps
	proof.Proved = m.proved && m.steps <= m.search.most
	return choice{victims: slices.Clone(m.kept), proof: proof}
}

// A minimum is a search from one criterion to the next.
type minimum struct {
	*search
	exact  *exact // for questions where floors or budgets may be broken
	most   int    // the number of victims allowed, or of candidates
	proved bool   // every answer so far was yes or no
}

// failure says why there are no victims.
func (m *minimum) failure() Failure {
	p := m.plan
	switch {
	case !m.proved:
		return Failure{Why: TooLong, Most: max(m.search.most, m.exact.stepsMax())}
	case p.budgeted() && m.contended():
		m.limitTo(anyViolations)
		m.among(Classes, highest(p.ranked))
		if m.possible() {
			return Failure{Why: OverBudget}
		}
		return Failure{Why: TooLittle}
	case m.floored:
		return Failure{Why: TooLittle}
	default:
		return Failure{Why: TooMany, Victims: m.most + 1, Most: int64(p.victimsMax())}
	}
}

// lowestLimit is lowestClass with the fewest violations of budgets, if those come
// first.
func (m *minimum) lowestLimit() (worst Class, ok bool) {
	p := m.plan
	if !m.contended() || p.cfg.Budgets == StrictPriority {
		return m.lowestClass()
	}
	m.limitTo(0)
	if worst, ok = m.lowestClass(); ok || p.budgeted() {
		return worst, ok
	}
	m.limitTo(anyViolations)
	m.among(Classes, highest(p.ranked))
	if !m.possible() {
		return 0, false
	}
	m.fewestViolations()
	return m.lowestClass()
}

// contended reports whether all candidates together violate a budget.
func (m *minimum) contended() bool {
	for i := range m.plan.ranked {
		m.every[i] = i
	}
	return m.plan.countViolations(m.every) > 0
}

// fewestViolations finds the fewest violations of budgets in the pool, which
// suffices, and limits what is chosen to as many.
func (m *minimum) fewestViolations() {
	low, kept := 0, slices.Clone(m.kept)
	slices.Sort(kept)
	for least := m.plan.countViolations(kept); low < least; {
		m.limitTo((low + least) / 2)
		if m.possible() {
			kept = append(kept[:0], m.kept...)
			slices.Sort(kept)
			least = m.plan.countViolations(kept)
		} else {
			low = m.search.violations + 1
		}
	}
	m.kept = append(m.kept[:0], kept...)
	m.limitTo(low)
}

// possible reports whether the pool suffices. If that stays unknown, the pool is
// taken not to suffice, and the result is not proved.
//
// Victims that are enough stay enough with others added, so it is sufficient to
// try as many as are allowed. Floors and budgets change that: an added victim can
// break them. Then the exact search answers.
func (m *minimum) possible() bool {
	var a answer
	if m.bound() {
		a = m.ask(0)
	} else {
		a = m.decide(m.most)
	}
	m.proved = m.proved && a != unknown
	return a == yes
}

// ask asks the exact search whether any number of candidates of the pool, or at
// most so many, suffice, and keeps them if so.
func (m *minimum) ask(most int) answer {
	x := m.exact
	x.most = most
	x.begin(m.pool, m.search.violations)
	x.most = 0
	a := x.search(false)
	if a == yes {
		m.kept = append(m.kept[:0], x.best...)
	}
	return a
}

// lowestClass is the first class at which enough can be chosen.
func (m *minimum) lowestClass() (Class, bool) {
	before := 0
	for class := range Class(Classes) {
		m.among(class, highest(m.plan.ranked))
		if len(m.pool) == before {
			continue // no candidate is of this class
		}
		before = len(m.pool)
		if m.possible() {
			return class, true
		}
	}
	return 0, false
}

func highest(ranked []eligible) int32 {
	most := ranked[0].Priority
	for i := range ranked {
		most = max(most, ranked[i].Priority)
	}
	return most
}

// lowestPriority narrows the pool, which suffices, to the lowest priority at
// which it still does.
func (m *minimum) lowestPriority(worst Class) {
	var priorities []int32
	for _, i := range m.pool {
		priorities = append(priorities, m.plan.ranked[i].Priority)
	}
	slices.Sort(priorities)
	priorities = slices.Compact(priorities)
	low, high := 0, len(priorities)-1 // high suffices
	kept := slices.Clone(m.kept)
	for low < high {
		middle := (low + high) / 2
		m.among(worst, priorities[middle])
		if m.possible() {
			high, kept = middle, append(kept[:0], m.kept...)
		} else {
			low = middle + 1
		}
	}
	m.among(worst, priorities[high])
	m.kept = append(m.kept[:0], m.plan.dropUnneeded(kept)...)
}

// fewest finds the fewest candidates of the pool that cover the need; the number
// that is kept is known to be enough. It returns a lower bound of the number.
func (m *minimum) fewest() int {
	enough := slices.Clone(m.kept)
	least := 0
	for count := m.atLeast(); count < len(enough); count++ {
		switch m.decideCount(count) {
		case yes:
			if least == 0 {
				least = count
			}
			return least
		case unknown:
			m.proved = false
			if least == 0 {
				least = count
			}
		}
	}
	m.kept = append(m.kept[:0], enough...)
	if least == 0 {
		least = len(enough)
	}
	return least
}

// decideCount says whether so many candidates of the pool suffice, and keeps them
// if so.
func (m *minimum) decideCount(count int) answer {
	if m.bound() {
		return m.ask(count)
	}
	return m.decide(count)
}

// atLeast is how many candidates are needed if all are as large as the largest,
// for each kind.
func (m *minimum) atLeast() int {
	count := int64(1)
	for k := range m.kinds {
		largest := int64(1)
		for place := range m.pool {
			largest = max(largest, m.parts[place*m.kinds+k])
		}
		count = max(count, (unit+largest-1)/largest)
	}
	return int(count)
}
