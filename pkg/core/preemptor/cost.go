package preemptor

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Cost makes plans on different nodes comparable: figures are compared from the
// first to the last, and lower is better. What they mean depends on the trigger.
//
// The first is 0 if the plan makes room, and otherwise 1. The second is then the
// least part of the ask that is missing, in units of 2^-30, so that the best plan
// that does not make room is the near miss. If room is made, the others are
//
//	Priority:      violations of budgets, the highest priority of a victim, the groups that stop, the sum
//	               of their priorities, each plus 2^31 so that more victims give a larger sum, their number,
//	               and minus the time, in ns, at which the oldest of the highest priority was created;
//	               with StrictPriority the highest priority comes before the violations
//	other triggers: violations of budgets, the class of the worst victim, the highest priority,
//	               the groups that stop, the number of victims and their weight
//
// What runs in vain without a victim counts in sums and numbers too.
//
// Sums, numbers and weights are those for as much as the ask of all that the plan serves (see
// Ask.Behind), in parts of 1/2^20. Highest priorities and classes are not, so that no ask makes
// the victims of another one more important.
//
// Without victims they have their least values. Plans for different triggers are
// not comparable.
type Cost [7]int64

// missingWhole is the second figure if all of a kind is missing.
const missingWhole = 1 << 30

// Compare is negative if c is the better of two costs.
func (c Cost) Compare(other Cost) int { return slices.Compare(c[:], other[:]) }

// Feasible reports whether the plan makes room.
func (c Cost) Feasible() bool { return c[0] == 0 }

// MissingPerMille is the part of the ask, in thousandths rounded down, that is
// still missing: 0 if the plan makes room, or if something other than amounts
// prevents it; 1000 at most.
func (c Cost) MissingPerMille() int64 {
	if c.Feasible() {
		return 0
	}
	return c[1] * 1000 / missingWhole
}

// LeastCost is a lower bound for the cost of a plan with victims, if all
// candidates have at least this priority, and those with exactly this priority
// were created at this time or before. A zero time means that the time is not
// known. Victims is what LeastVictims says.
func LeastCost(cfg Config, t Trigger, victims int64, lowest int32, latest time.Time) Cost {
	least, age := int64(lowest), int64(math.MinInt64)
	if !latest.IsZero() {
		age = -nanos(latest)
	}
	switch {
	case t != Priority:
		return Cost{0, 0, int64(Regular), least, 0, victims}
	case cfg.Budgets == StrictPriority:
		return Cost{0, least, 0, 0, times(victims, least+shift), victims, age}
	default:
		return Cost{0, 0, least, 0, times(victims, least+shift), victims, age}
	}
}

// shift makes every priority count upwards from zero.
const shift = 1 << 31

// cost is the cost of the plan.
func (p *plan) cost() Cost {
	switch p.reason {
	case RoomIsThere, WaitsForReleasing, Chosen:
		if p.together.Asks > 0 {
			return p.costEach
		}
		if p.rules.byPriority {
			return p.figuresByPriority()
		}
		return p.figuresByClass()
	case NothingHelps, Impossible, NotEnough, NoCandidates:
		share := p.missing(p.reachable())
		if share.Part == 0 {
			return Cost{1, 0}
		}
		return Cost{1, parts(share.Part, share.Whole, missingWhole)}
	default:
		return Cost{1, missingWhole}
	}
}

func (p *plan) figuresByPriority() Cost {
	highest, sum, oldest := int64(math.MinInt64), int64(0), int64(math.MaxInt64)
	for _, i := range p.victims {
		e := &p.ranked[i]
		priority := int64(e.Priority)
		sum += int64(e.count) * (priority + shift)
		switch created := nanos(e.Created); {
		case priority > highest:
			highest, oldest = priority, created
		case priority == highest:
			oldest = min(oldest, created)
		}
	}
	age := -oldest
	if len(p.victims) == 0 {
		age = math.MinInt64
	}
	more, priorities := p.lostToo()
	stops := int64(p.countStops(p.victims))
	sum, count := forEach(sum+priorities, p.worth), forEach(int64(p.countOf(p.victims))+more, p.worth)
	if p.cfg.Budgets == StrictPriority {
		return Cost{0, highest, int64(p.violations), stops, sum, count, age}
	}
	return Cost{0, int64(p.violations), highest, stops, sum, count, age}
}

// nanos is the time in nanoseconds since 1970, or the nearest there is that can
// be negated.
func nanos(t time.Time) int64 {
	const most = math.MaxInt64 / int64(time.Second)
	switch s := t.Unix(); {
	case s >= most:
		return math.MaxInt64
	case s <= -most:
		return -math.MaxInt64
	}
	return t.UnixNano()
}

func (p *plan) figuresByClass() Cost {
	if len(p.victims) > 0 && !p.weighed {
		p.weighAll()
	}
	class, highest, weight := Class(0), int64(math.MinInt64), int64(0)
	for _, i := range p.victims {
		e := &p.ranked[i]
		class = max(class, e.class)
		highest = max(highest, int64(e.Priority))
		weight += e.weight
	}
	more, _ := p.lostToo()
	count, weight := forEach(int64(p.countOf(p.victims))+more, p.worth), forEach(weight, p.worth)
	return Cost{0, int64(p.violations), int64(class), highest, int64(p.countStops(p.victims)), count, weight}
}

// forEach is a figure for as much as one of the asks that victims are for. What these are
// worth is given in parts of one.
func forEach(figure, worth int64) int64 {
	return scaled(figure, wholeAsk*wholeAsk, cmp.Or(worth, wholeAsk))
}
