package preemptor

import (
	"cmp"
	"slices"
)

// An exact search finds victims that cover the need and keep every floor and
// every budget, or proves that there are none. It runs where the greedy choice
// fails although all candidates together hold enough, or where that choice
// breaks budgets.
//
// Every condition is a row. A cover row is a quantity that the victims must reach:
// a kind of the need, or one of candidates without whose end the resource manager
// refuses the ask. A pack row is a quantity that they must not exceed: what a
// queue can spare of a kind, or how many may go of a budget. A candidate is a
// column: what it adds to each row. Candidates of equal columns are a group, of
// which the search only decides how many go; these are the least important ones.
// So any number of equal candidates costs no more than one.
type exact struct {
	*problem
	able    []int   // the candidates, indices of plan.ranked, the least important first
	limit   int     // how many victims may violate a budget; anyViolations if budgets do not matter
	most    int     // how many victims there may be; 0 is any number
	members []int   // of able, by group, the least important first
	columns []int64 // by place in able: one quantity for each row
	groups  []group
	rows
	relaxed
	descent

	steps    int64 // taken so far, of all questions about this plan
	before   int64 // in all plans before, with the steps of other searches
	unproved bool  // a question stayed open

	groupAt []int // by place in able: the group, and the place in it
	nth     []int

	best     []int // the victims that spare leaves
	chosen   []int // scratch, like the next ones
	clause   []bool
	counts   []int // by budget
	sums     []int64
	divisors []int64
}

// anyViolations is the limit if budgets do not matter.
const anyViolations = -1

// A group is candidates of equal columns. Between low and high of them are victims.
type group struct {
	from, to  int // of exact.members
	low, high int
	taken     int
}

// reset begins the search for a plan.
func (x *exact) reset(p *problem) {
	x.before += x.steps
	x.problem, x.steps, x.unproved, x.most = p, 0, false, 0
	x.clauses = x.clauses[:0]
}

// begin sets up the rows and columns of a question: victims among these
// candidates, of which at most limit violate a budget.
func (x *exact) begin(able []int, limit int) {
	x.able, x.limit = append(x.able[:0], able...), limit
	x.setRows()
	if x.refuted = x.leavesTooLittle(); !x.refuted {
		x.setColumns()
	}
}

func (x *exact) column(place int) []int64 {
	w := len(x.bounds)
	return x.columns[place*w : place*w+w]
}

func (x *exact) columnOf(g *group) []int64 { return x.column(x.members[g.from]) }

// setGroups sorts the candidates into groups. If victims may violate budgets, and
// some count for more than one, it matters which of equals go: the violations of
// a set then depend on the order of its victims. So every candidate is a group.
func (x *exact) setGroups() {
	apart := x.limit > 0 && !x.single
	x.members = x.members[:0]
	for place := range x.able {
		x.members = append(x.members, place)
	}
	if !apart {
		slices.SortFunc(x.members, func(a, b int) int {
			return cmp.Or(slices.Compare(x.column(a), x.column(b)), cmp.Compare(a, b))
		})
	}
	x.groups = x.groups[:0]
	for at, place := range x.members {
		if at == 0 || apart || !slices.Equal(x.column(x.members[at-1]), x.column(place)) {
			x.groups = append(x.groups, group{from: at})
		}
		x.groups[len(x.groups)-1].to = at + 1
	}
	n := len(x.able)
	x.groupAt, x.nth = slices.Grow(x.groupAt[:0], n)[:n], slices.Grow(x.nth[:0], n)[:n]
	for i := range x.groups {
		g := &x.groups[i]
		for nth, place := range x.members[g.from:g.to] {
			x.groupAt[place], x.nth[place] = i, nth
		}
		g.high = g.to - g.from
		for row, v := range x.columnOf(g) {
			if row >= x.covers && v > 0 {
				g.high = min(g.high, int(min(x.bounds[row]/v, int64(g.high))))
			}
		}
	}
}

// victims appends those that the search found to list, as indices of plan.ranked, in
// order.
func (x *exact) victims(list []int) []int {
	for i := range x.groups {
		g := &x.groups[i]
		for _, place := range x.members[g.from : g.from+g.taken] {
			list = append(list, x.able[place])
		}
	}
	slices.Sort(list)
	return list
}

// spare changes the victims, found before, into those of the least importance:
// the most important candidate stays if any victims do without it, and so on down
// to the least important. What is not answered within the steps stays as it is.
func (x *exact) spare() {
	x.best = x.victims(x.best[:0])
	budget := x.steps + x.stepsMax()/4
	for at := len(x.able) - 1; at >= 0; at-- {
		g, nth := &x.groups[x.groupAt[at]], x.nth[at]
		if _, is := slices.BinarySearch(x.best, x.able[at]); !is {
			g.high = min(g.high, nth)
			continue
		}
		if nth < g.low {
			continue
		}
		g.high = nth
		switch x.findWithin(min(budget, x.steps+x.stepsMax()/16)) {
		case yes:
			x.best = x.victims(x.best[:0])
			continue
		case unknown:
			x.unproved = true
		}
		g.low, g.high = nth+1, nth+1
	}
	x.dropUnneeded()
}

// dropUnneeded drops the victims that the others make unnecessary, the most important
// first: a search that was stopped can leave some.
func (x *exact) dropUnneeded() {
	for at := len(x.best) - 1; at >= 0; at-- {
		rest := append(x.sums[:0], x.bounds[:x.covers]...)
		x.sums = rest
		for i, victim := range x.best {
			place, _ := slices.BinarySearch(x.able, victim)
			if i != at {
				x.lower(rest, rest, x.column(place)[:x.covers], 1)
			}
		}
		if x.isCovered(rest) {
			x.best = slices.Delete(x.best, at, at+1)
		}
	}
}

// The limits of steps. An exact search among few candidates gets so many that it is
// only stopped where the need, guarantees and budgets are all tight at once; they take
// about 30 ms. All questions of a plan together get twice as many. Improving what was
// found gets a fourth.
const (
	stepsExact = 1 << 17
	stepsOrder = 1 << 10 // of each order that is tried first
)

func (x *exact) stepsMax() int64 {
	switch {
	case len(x.ranked) <= ProvedMax:
		return stepsExact
	case x.cfg.StepsMax == 0:
		return DefaultConfig().StepsMax
	default:
		return x.cfg.StepsMax
	}
}

// findWithin says whether there are victims, and leaves them in the groups. First
// they are taken one by one, and every order of the groups gets a few steps: the
// first way down an order is a greedy choice. Then one order gets all that are left
// up to this step.
func (x *exact) findWithin(budget int64) answer {
	if x.refuted {
		return no
	}
	if x.steps >= budget {
		return unknown
	}
	if x.arrange(byQueue); x.takeOneByOne() {
		return yes
	}
	for order := range orders {
		x.arrange(order)
		if a := x.run(min(x.steps+stepsOrder, budget)); a != unknown {
			return a
		}
	}
	x.arrange(byQueue)
	return x.run(budget)
}
