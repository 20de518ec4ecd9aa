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
}

// A field is one of a limit.
type field uint8

const (
	byBelow field = iota
	byClass
	byPriority
	byViolations
)

// fields are those of a limit in the order in which they are compared. Only for a required
// node the worst class comes before budgets; no other trigger breaks a guarantee.
func (p *plan) fields() [4]field {
	switch {
	case p.cfg.Budgets == StrictPriority:
		return [4]field{byBelow, byClass, byPriority, byViolations}
	case p.rules.configured:
		return [4]field{byBelow, byClass, byViolations, byPriority}
	default:
		return [4]field{byBelow, byViolations, byClass, byPriority}
	}
}

// highestLimit lets all candidates be victims that may be at all.
func (p *problem) highestLimit() limit {
	l := limit{0, Classes - 1, math.MaxInt, math.MaxInt32}
	if p.rules.configured {
		l.below = math.MaxInt
	}
	if p.cfg.Budgets == HardBudgets {
		l.violations = 0
	}
	return l
}

// limitOf is the lowest class and priority that allow some victims.
func (p *plan) limitOf(victims []int) limit {
	least := limit{priority: math.MinInt32}
	for _, i := range victims {
		least.class = max(least.class, p.ranked[i].class)
		least.priority = max(least.priority, p.ranked[i].Priority)
	}
	return least
}

// allows reports whether a candidate may be a victim within the limit.
func (l *limit) allows(e *eligible) bool { return e.class <= l.class && e.Priority <= l.priority }

// A limited is the choice of victims within limits.
type limited struct{ *plan }

// choose chooses victims within the lowest limit within which any of the strategies
// finds some, and reports whether there are any. With Minimal among them that is the
// limit of the optimum.
func (p limited) choose(list []Strategy) bool {
	p.bound = p.isBound()
	p.reportBinding()
	exact := slices.Index(list, Minimal)
	if exact < 0 {
		return p.climb(list)
	}
	// Below the first limit that leaves enough nothing is found. Mostly no search is
	// needed there.
	if p.tryWithin(p.lowestLimit(), list[:exact]) {
		return true
	}
	best := p.minimal()
	p.failures = p.failures[:0]
	for _, s := range list {
		c := best
		if s != Minimal {
			c = strategies[s].choose(p.plan)
		}
		if p.took(s, c) {
			return true
		}
	}
	return false
}

// climb tries one limit after the other, from the lowest to the highest, until a strategy
// finds victims within it. If the resource manager refuses what one of them finds, it
// stops: reprieve may find others within that limit, and each question takes time.
func (p limited) climb(list []Strategy) bool {
	for l := range p.limits {
		if p.tryWithin(l, list) {
			return true
		}
		if slices.ContainsFunc(p.failures, func(f Failure) bool { return f.Why == NotFitting }) {
			return false
		}
	}
	return p.tryWithin(p.highestLimit(), list)
}

// lowestLimit is the first limit that leaves candidates which hold enough.
func (p limited) lowestLimit() limit {
	for l := range p.limits {
		return l
	}
	return p.highestLimit()
}

// tryWithin reports whether one of the strategies finds victims within the limit.
// It notes why those before it do not.
func (p limited) tryWithin(l limit, list []Strategy) bool {
	p.limit, p.failures = l, p.failures[:0]
	for _, s := range list {
		if p.took(s, strategies[s].choose(p.plan)) {
			return true
		}
	}
	return false
}

// limits are the limits within which candidates hold enough, from the lowest on,
// without those that allow the same candidates as one before. Counts of victims are
// none or any, because single and multiple do not look for the fewest.
func (p limited) limits(yield func(limit) bool) {
	highest := p.highestLimit()
	below, violations := []int{0}, []int{0}
	if p.bound {
		below = append(below, highest.below)
	}
	if p.bound && highest.violations > 0 {
		violations = append(violations, highest.violations)
	}
	priorities := p.priorities()
	for _, below := range below {
		for class := range Class(Classes) {
			// The one that comes first in the order changes last.
			for at := range len(priorities) * len(violations) {
				l := limit{below: below, class: class}
				if p.cfg.Budgets == StrictPriority {
					l.priority, l.violations = priorities[at/len(violations)], violations[at%len(violations)]
				} else {
					l.priority, l.violations = priorities[at%len(priorities)], violations[at/len(priorities)]
				}
				if p.leavesEnough(&l) && !yield(l) {
					return
				}
			}
		}
	}
}

// priorities are those of the candidates, from the lowest on.
func (p *plan) priorities() []int32 {
	all := make([]int32, len(p.ranked))
	for i := range p.ranked {
		all[i] = p.ranked[i].Priority
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// leavesEnough reports whether the candidates within a limit hold enough, and some
// have its class and some its priority. Without the latter, a lower limit allows
// the same candidates.
func (p limited) leavesEnough(l *limit) bool {
	ofClass, ofPriority := false, false
	sums := make([]int64, len(p.need))
	for i := range p.ranked {
		e := &p.ranked[i]
		if !l.allows(e) {
			continue
		}
		ofClass = ofClass || e.class == l.class
		ofPriority = ofPriority || e.Priority == l.priority
		for k, held := range e.held {
			sums[k] = add(sums[k], held)
		}
	}
	return ofClass && ofPriority && p.reached(sums)
}

// isBound reports whether all candidates together would break a guarantee or
// exceed a budget. Otherwise any of them can be victims.
func (p *plan) isBound() bool { return p.floored() || p.countViolations(p.ranks()) > 0 }

// reportBinding notes the guarantees that a candidate breaks by itself.
func (p limited) reportBinding() {
	if !p.bound || !p.reporting {
		return
	}
	p.fillFloors()
	for i := range p.ranked {
		p.checkFloors(p.ranked[i].Candidate)
	}
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
