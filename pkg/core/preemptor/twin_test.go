package preemptor

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// triggered is a small situation for a trigger with everything that there can
// be: queues with floors, budgets, and allocations on other nodes if the quota
// is short.
func triggered(r *rand.Rand, t Trigger) situation {
	s := randomSituation(r)
	s.ask.Trigger = t
	s.ask.Priority = int32(r.IntN(4))
	width := s.node.Kinds.Len()
	s.cfg.SpareForeign, s.cfg.EqualsToo, s.cfg.ByQoS = false, r.IntN(4) == 0, r.IntN(2) == 0
	s.cfg.Budgets = BudgetPolicy(r.IntN(3))
	for i := range s.node.On {
		c := &s.node.On[i]
		c.Foreign = c.Foreign && r.IntN(5) == 0
		c.QoS = QoS(r.IntN(3))
		c.Outside, c.SameQueue = r.IntN(15) == 0, r.IntN(15) == 0
	}
	if t == Quota || t != RequiredNode && r.IntN(2) == 0 {
		s.fillQuota(r, width)
	}
	if t == Quota {
		s.ask.Amounts, s.ask.Priority = nil, 0
	}
	if r.IntN(2) == 0 {
		s.fillFloors(r, width)
	}
	if r.IntN(2) == 0 {
		for b := range 1 + r.IntN(3) {
			s.node.Budgets = append(s.node.Budgets, Budget{Name: fmt.Sprint("budget-", b), Allowed: r.IntN(4) - 1})
		}
		for i := range s.node.On {
			for b := range s.node.Budgets {
				if r.IntN(2) == 0 {
					s.node.On[i].Budgets = append(s.node.On[i].Budgets, int32(b))
				}
			}
		}
	}
	return s
}

func (s *situation) fillQuota(r *rand.Rand, width int) {
	s.node.Quota = make(resources.Amounts, width)
	for i := range s.node.On {
		c := &s.node.On[i]
		c.Elsewhere = r.IntN(3) == 0
		if r.IntN(3) == 0 {
			s.node.Quota.Add(c.Amounts)
		}
	}
	if r.IntN(2) == 0 {
		s.node.Quota.Set(resources.Kind(r.IntN(width)), 0)
	}
}

// fillFloors makes a queue with two below it, and one beside.
func (s *situation) fillFloors(r *rand.Rand, width int) {
	chains := [][]int32{{1, 0}, {2, 0}, {3}, nil}
	sums := make([]resources.Amounts, 4)
	for i := range s.node.On {
		c := &s.node.On[i]
		c.Floors = chains[r.IntN(len(chains))]
		for _, f := range c.Floors {
			sums[f].Add(c.Amounts)
		}
	}
	for f := range sums {
		floor := Floor{Queue: fmt.Sprint("root.", f)}
		for kind := range resources.Kind(width) {
			if r.IntN(3) > 0 {
				floor.Surplus.Set(kind, r.Int64N(sums[f].Of(kind)+1))
			}
		}
		s.node.Floors = append(s.node.Floors, floor)
	}
}

// needs is what must be freed, by kind: on the node and of the quota.
func (s situation) needs() (node, quota resources.Amounts) {
	quota = s.node.Quota
	if s.ask.Trigger == Quota {
		return nil, quota
	}
	return missingBut(s, func(c *Candidate) bool { return c.Elsewhere }, nil), quota
}

// setsOf visits every set of candidates, the empty one first. The next one overwrites it.
func setsOf(able []Candidate) iter.Seq[[]Candidate] {
	return func(yield func([]Candidate) bool) {
		set := make([]Candidate, 0, len(able))
		for bits := range uint(1) << len(able) {
			set = set[:0]
			for i := range able {
				if bits>>i&1 == 1 {
					set = append(set, able[i])
				}
			}
			if !yield(set) {
				return
			}
		}
	}
}

// enough reports whether what these hold covers the need.
func (s situation) enough(set []Candidate) bool {
	node, quota := s.needs()
	quota = quota.Clone()
	for i := range set {
		quota.Sub(set[i].Amounts)
		if !set[i].Elsewhere {
			node.Sub(set[i].Amounts)
		}
	}
	for _, open := range [2]resources.Amounts{node, quota} {
		for _, v := range open {
			if v > 0 {
				return false
			}
		}
	}
	return true
}

// mayBeVictim says by the rules of the triggers which candidates may be victims,
// without floors and budgets.
func (s situation) mayBeVictim(c Candidate) bool {
	node, quota := s.needs()
	useful := false
	for i, v := range c.Amounts {
		kind := resources.Kind(i)
		useful = useful || v > 0 && (quota.Of(kind) > 0 || node.Of(kind) > 0 && !c.Elsewhere)
	}
	switch {
	case c.Overdue, c.Releasing, c.Required, c.Static, c.Foreign, c.Protected, c.Outside, !useful:
		return false
	}
	switch s.ask.Trigger {
	case Priority:
		return c.Priority < s.ask.Priority || s.cfg.EqualsToo && c.Priority == s.ask.Priority
	case Guarantee:
		return !c.SameQueue && c.Priority <= s.ask.Priority
	default:
		return true
	}
}

// keeps reports whether no queue falls below what is guaranteed to it.
func (s situation) keeps(set []Candidate) bool {
	sums := make([]resources.Amounts, len(s.node.Floors))
	for _, c := range set {
		for _, f := range c.Floors {
			sums[f].Add(c.Amounts)
		}
	}
	for f := range sums {
		if !sums[f].Within(s.node.Floors[f].Surplus) {
			return false
		}
	}
	return true
}

// eligible are the candidates, the least important first.
func (s situation) eligible() []Candidate {
	var able []Candidate
	for _, c := range s.node.On {
		if s.mayBeVictim(c) && s.keeps([]Candidate{c}) {
			able = append(able, c)
		}
	}
	slices.SortFunc(able, s.order)
	return slices.DeleteFunc(able, func(c Candidate) bool {
		return s.cfg.Budgets == HardBudgets && s.violations([]Candidate{c}) > 0
	})
}

// order compares candidates, the least important first.
func (s situation) order(a, b Candidate) int {
	byClass := cmp.Compare(naiveClass(a), naiveClass(b))
	byPriority := cmp.Compare(a.Priority, b.Priority)
	byQoS := 0
	if s.cfg.ByQoS {
		byQoS = cmp.Compare(a.QoS, b.QoS)
	}
	byAge := b.Created.Compare(a.Created)
	byKey := cmp.Compare(a.Key, b.Key)
	if s.ask.Trigger == Priority {
		return cmp.Or(byPriority, byClass, byQoS, byAge, byKey)
	}
	return cmp.Or(byClass, byPriority, byQoS, byAge, s.node.Kinds.Compare(a.Amounts, b.Amounts), byKey)
}

// violating says which of these, the least important first, exceed a budget.
func (s situation) violating(set []Candidate) []bool {
	flags := make([]bool, len(set))
	for i, c := range set {
		for _, b := range c.Budgets {
			before := 0
			for _, other := range set[:i] {
				if slices.Contains(other.Budgets, b) {
					before++
				}
			}
			flags[i] = flags[i] || before >= s.node.Budgets[b].Allowed
		}
	}
	return flags
}

func (s situation) violations(set []Candidate) int {
	count := 0
	for _, violating := range s.violating(set) {
		if violating {
			count++
		}
	}
	return count
}

// pool are the candidates that may be removed together, from the least important
// on.
func (s situation) pool() []Candidate {
	var pool []Candidate
	for _, c := range s.eligible() {
		if more := append(slices.Clone(pool), c); s.keeps(more) {
			pool = more
		}
	}
	return pool
}

// reprieved are the victims if every candidate of the pool is put back that the
// others make unnecessary: if budgets is set, the violating first, then the most
// important.
func (s situation) reprieved(pool []Candidate, budgets bool) []Candidate {
	flags := make([]bool, len(pool))
	if budgets {
		flags = s.violating(pool)
	}
	order := make([]int, len(pool))
	for i := range order {
		order[i] = i
	}
	first := func(i int) int {
		if flags[i] {
			return 0
		}
		return 1
	}
	slices.SortFunc(order, func(i, j int) int {
		strictly := 0
		if budgets && s.cfg.Budgets == StrictPriority {
			strictly = cmp.Compare(pool[j].Priority, pool[i].Priority)
		}
		return cmp.Or(strictly, cmp.Compare(first(i), first(j)), cmp.Compare(j, i))
	})
	removed := slices.Clone(pool)
	for _, i := range order {
		without := slices.DeleteFunc(slices.Clone(removed), func(c Candidate) bool { return c.Key == pool[i].Key })
		if s.enough(without) {
			removed = without
		}
	}
	return removed
}

// naiveCost is what victims cost, by the text above Cost.
func (s situation) naiveCost(victims []Candidate) Cost {
	count := int64(len(victims))
	violations := int64(s.violations(victims))
	if count == 0 {
		switch {
		case s.ask.Trigger != Priority:
			return Cost{0, 0, 0, math.MinInt64}
		case s.cfg.Budgets == StrictPriority:
			return Cost{0, math.MinInt64, 0, 0, 0, 0, math.MinInt64}
		default:
			return Cost{0, 0, math.MinInt64, 0, 0, 0, math.MinInt64}
		}
	}
	p := priceOf(s, victims)
	if s.ask.Trigger != Priority {
		return Cost{0, violations, int64(p.class), int64(p.priority), 0, count * wholeAsk, p.weight * wholeAsk}
	}
	sum, oldest := int64(0), time.Time{}
	for _, c := range victims {
		sum += int64(c.Priority) + 1<<31
		if int(c.Priority) == p.priority && (oldest.IsZero() || c.Created.Before(oldest)) {
			oldest = c.Created
		}
	}
	if s.cfg.Budgets == StrictPriority {
		return Cost{0, int64(p.priority), violations, 0, sum * wholeAsk, count * wholeAsk, -oldest.UnixNano()}
	}
	return Cost{0, violations, int64(p.priority), 0, sum * wholeAsk, count * wholeAsk, -oldest.UnixNano()}
}
