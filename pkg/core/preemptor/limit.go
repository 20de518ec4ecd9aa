package preemptor

import (
	"math"
	"slices"
)

// A limit says which victims may be chosen together, and how many of them may break a
// rule. The strategies of a required node all work within the same limit, the lowest one
// within which one of them finds victims. So no strategy takes a more important victim
// because it is of a better size. See fields for how limits are compared.
type limit struct {
	below      int   // most victims without which all others keep every guarantee
	class      Class // highest
	violations int   // most victims that exceed a budget
	priority   int32 // highest
	stops      int   // most groups that stop
	importance int64 // highest, without the class of service
}

// A field is one of a limit.
type field uint8

const (
	byBelow field = iota
	byClass
	byPriority
	byViolations
	byStops
)

// fields are those of a limit in the order in which they are compared. Only for a required
// node the worst class comes before budgets; no other trigger breaks a guarantee.
func (m *minimum) fields() []field {
	switch {
	case m.cfg.Budgets == StrictPriority:
		return []field{byBelow, byClass, byPriority, byViolations, byStops}
	case m.rules.configured:
		return []field{byBelow, byClass, byViolations, byPriority, byStops}
	default:
		return []field{byBelow, byViolations, byClass, byPriority, byStops}
	}
}

// highestLimit lets all candidates be victims that may be at all.
func (p *problem) highestLimit() limit {
	l := limit{0, Classes - 1, math.MaxInt, math.MaxInt32, p.countStops(p.ranks()), math.MaxInt64}
	if p.rules.configured {
		l.below = math.MaxInt
	}
	if p.cfg.Budgets == HardBudgets {
		l.violations = 0
	}
	return l
}

// limitOf is the lowest class and priority that allow some victims.
func limitOf(ranked []eligible, victims []int) limit {
	least := limit{priority: math.MinInt32}
	for _, i := range victims {
		least.class = max(least.class, ranked[i].class)
		least.priority = max(least.priority, ranked[i].Priority)
	}
	return least
}

// allows reports whether a candidate may be a victim within the limit.
func (l *limit) allows(e *eligible) bool {
	return e.class <= l.class && e.Priority <= l.priority && e.importance>>8 <= l.importance
}

// chooseWithin runs strategies within the lowest limit within which there are victims, and reports
// whether one of them found some. Single and multiple may find none there that are of the right size, or
// few enough: without minimal they go on to all candidates.
func (p *plan) chooseWithin(list []Strategy) bool {
	best := p.minimal()
	if len(best.victims) == 0 {
		p.limit = p.highestLimit()
	}
	if p.chooseGiven(list, best) {
		return true
	}
	if slices.Contains(list, Minimal) || p.limit == p.highestLimit() {
		return false
	}
	p.limit, p.failures = p.highestLimit(), p.failures[:0]
	return p.chooseGiven(list, best)
}

// chooseGiven runs strategies where the result of minimal is known.
func (p *plan) chooseGiven(list []Strategy, best choice) bool {
	for _, s := range list {
		c := best
		if s != Minimal {
			c = strategies[s].choose(p)
		}
		if p.took(s, c) {
			return true
		}
	}
	return false
}

// among says in words which candidates single was limited to, if another would be
// enough; otherwise it is empty.
func (p *plan) among() string {
	words := ""
	for i := range p.ranked {
		switch e := &p.ranked[i]; {
		case !p.reporting || !p.suffice([]int{i}):
		case e.class > p.limit.class:
			return " up to class " + p.limit.class.String()
		case e.Priority > p.limit.priority:
			words = " of a lower priority"
		case words == "" && !p.allowsAlone(e.Candidate):
			words = " within guarantees and budgets"
		}
	}
	return words
}

// boundless is the limit where nothing has to be checked.
var boundless = limit{math.MaxInt, Classes - 1, math.MaxInt, math.MaxInt32, math.MaxInt, math.MaxInt64}
