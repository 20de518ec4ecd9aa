package preemptor

import "slices"

// minimal finds the optimal victims: the lowest worst class, then the lowest
// highest priority, then the fewest, then the least weight (see weigh). Between
// victims that are equal in all of these, a fixed rule decides; of candidates
// that hold the same, the least important are taken first.
//
// Class and priority only say which candidates may be chosen at all. So each is
// found by asking whether enough can be chosen among the less important ones. A
// pool that suffices still suffices with any candidate added, so a binary search
// works.
func (p *plan) minimal() choice {
	p.weighAll()
	m := minimum{search: newSearch(p), most: min(p.victimsMax(), len(p.ranked)), proved: true}
	worst, ok := m.lowestTier()
	if !ok {
		if m.steps > m.search.most {
			return choice{failure: Failure{Why: TooLong, Most: m.search.most}}
		}
		if p.budgeted() {
			return choice{failure: Failure{Why: OverBudget}}
		}
		if m.floored {
			return choice{failure: Failure{Why: TooLittle}}
		}
		return choice{failure: Failure{Why: TooMany, Victims: m.most + 1, Most: int64(p.victimsMax())}}
	}
	m.lowestPriority(worst)
	proof := Proof{VictimsMin: m.fewest()}
	for {
		proof.WeightMin = m.improve(len(m.kept))
		spared := p.dropUnneeded(slices.Clone(m.kept))
		if len(spared) == len(m.kept) {
			break
		}
		m.kept = append(m.kept[:0], spared...) // the search allowed more than the fewest
	}
	proof.Steps = min(m.steps, m.search.most)
	proof.Proved = m.proved && m.steps <= m.search.most
	return choice{victims: slices.Clone(m.kept), proof: proof}
}

// A minimum is a search from one criterion to the next.
type minimum struct {
	*search
	most   int  // the number of victims allowed, or of candidates
	proved bool // every answer so far was yes or no
}

// possible reports whether the pool suffices. If that stays unknown, the pool is
// taken not to suffice, and the result is not proved.
//
// Victims that are enough stay enough with others added, so it is sufficient to
// try as many as are allowed. Only floors change that: an added victim can break
// a floor. Then every number is tried.
func (m *minimum) possible() bool {
	if !m.floored {
		a := m.decide(m.most)
		m.proved = m.proved && a != unknown
		return a == yes
	}
	if !m.floorsMayLeaveEnough() {
		return false
	}
	for count := m.atLeast(); count <= min(m.most, len(m.pool)) && m.steps <= m.search.most; count++ {
		switch m.decide(count) {
		case yes:
			return true
		case unknown:
			m.proved = false
		}
	}
	return false
}

// floorsMayLeaveEnough reports whether the floors can leave enough of every kind.
// What candidates hold counts up to the surplus: once below the first floor of
// each candidate, and once below the last.
func (m *minimum) floorsMayLeaveEnough() bool {
	for k, need := range m.plan.need {
		if m.freeable(k, false) < need || m.freeable(k, true) < need {
			return false
		}
	}
	return true
}

func (m *minimum) freeable(k int, last bool) int64 {
	p := m.plan
	below := make([]int64, len(p.node.Floors))
	var free int64
	for _, i := range m.pool {
		e := &p.ranked[i]
		n := len(e.Floors)
		switch {
		case n == 0:
			free = add(free, e.held[k])
		case last:
			below[e.Floors[n-1]] = add(below[e.Floors[n-1]], e.held[k])
		default:
			below[e.Floors[0]] = add(below[e.Floors[0]], e.held[k])
		}
	}
	for f, held := range below {
		free = add(free, min(held, p.left[f*p.width+int(p.short[k])]))
	}
	return free
}

// lowestTier is the first tier at which enough can be chosen.
func (m *minimum) lowestTier() (tier, bool) {
	before, end := 0, tiers
	if m.plan.budgeted() {
		end = Classes
	}
	for t := range end {
		m.among(t, highest(m.plan.ranked))
		if len(m.pool) == before {
			continue // no candidate is of this tier
		}
		before = len(m.pool)
		if m.possible() {
			return t, true
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
func (m *minimum) lowestPriority(worst tier) {
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
		switch m.decide(count) {
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
