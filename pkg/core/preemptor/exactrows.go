package preemptor

import (
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// rows are the conditions of an exact search. The cover rows come first.
type rows struct {
	bounds  []int64 // what the victims must reach, or must not exceed
	covers  int     // how many must be reached
	single  bool    // no candidate counts for more than one contended budget
	clauses []bool  // by clause and plan.ranked: one of these must go

	ofFloor  []int // by floor and kind: the row, or -1
	ofBudget []int // by budget: the row, or -1 if it is not contended
	together int   // the row of all contended budgets, or -1
	always   int   // the row of candidates that violate a budget in any case, or -1
	counting int   // the row that counts the victims, or -1
}

func (x *exact) clauseCount() int { return len(x.clauses) / max(len(x.ranked), 1) }

func (r *rows) addRow(bound int64) int {
	r.bounds = append(r.bounds, bound)
	return len(r.bounds) - 1
}

// isCovered reports whether nothing is open of the cover rows.
func (r *rows) isCovered(rest []int64) bool {
	for _, open := range rest[:r.covers] {
		if open > 0 {
			return false
		}
	}
	return true
}

// lower fills in next with rest after count candidates of this column have gone.
// It reports whether no pack row is exceeded.
func (r *rows) lower(next, rest, column []int64, count int) bool {
	for row, v := range column {
		used := times(int64(count), v)
		if next[row] = rest[row] - used; next[row] >= 0 {
			continue
		}
		if row >= r.covers {
			return false
		}
		next[row] = 0
	}
	return true
}

// times is n times v, neither of them negative, or the most there is.
func times(n, v int64) int64 {
	if v > 0 && n > math.MaxInt64/v {
		return math.MaxInt64
	}
	return n * v
}

// setRows lists the rows that can be broken: floors and budgets that are large
// enough for all candidates are none.
func (x *exact) setRows() {
	x.bounds = append(x.bounds[:0], x.need...)
	for range x.clauseCount() {
		x.addRow(1)
	}
	x.covers = len(x.bounds)
	x.setFloorRows()
	x.setBudgetRows()
	x.counting = -1
	if x.most > 0 && x.most < len(x.able) {
		x.counting = x.addRow(int64(x.most))
	}
}

// setFloorRows adds a row for each kind of a floor that is too small for all
// candidates. What is left over if all of them hold multiples of a quantity is of no
// use to any.
func (x *exact) setFloorRows() {
	if x.ofFloor = x.ofFloor[:0]; len(x.node.Floors) == 0 {
		return
	}
	n := len(x.node.Floors) * x.width
	x.sums, x.divisors = slices.Grow(x.sums[:0], n)[:n], slices.Grow(x.divisors[:0], n)[:n]
	clear(x.sums)
	clear(x.divisors)
	for _, i := range x.able {
		c := x.ranked[i].Candidate
		for _, f := range c.Floors {
			for kind, v := range c.Amounts {
				at := int(f)*x.width + kind
				x.sums[at] = add(x.sums[at], max(v, 0))
				x.divisors[at] = divisor(x.divisors[at], max(v, 0))
			}
		}
	}
	x.ofFloor = slices.Grow(x.ofFloor, n)[:n]
	for f := range x.node.Floors {
		for _, kind := range x.kinds {
			at := f*x.width + int(kind)
			x.ofFloor[at] = -1
			surplus := max(x.node.Floors[f].Surplus.Of(kind), 0)
			if surplus != resources.Unlimited && x.sums[at] > surplus {
				x.ofFloor[at] = x.addRow(surplus - surplus%x.divisors[at])
			}
		}
	}
}

// divisor is the greatest common divisor; that of zero and any quantity is the
// quantity.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// leavesTooLittle reports whether floors leave too little of a kind: what candidates
// hold counts up to what the first of their floors can spare, or up to the last. Most
// nodes without victims are known by that.
func (x *exact) leavesTooLittle() bool {
	n := len(x.bounds)
	x.sums = slices.Grow(x.sums[:0], n)[:n]
	for k, need := range x.need {
		for _, last := range [2]bool{false, true} {
			clear(x.sums)
			free := int64(0)
			for _, i := range x.able {
				e := &x.ranked[i]
				if row := x.floorRow(e, x.short[k], last); row >= 0 {
					x.sums[row] = add(x.sums[row], e.held[k])
				} else {
					free = add(free, e.held[k])
				}
			}
			for row, sum := range x.sums {
				free = add(free, min(sum, x.bounds[row]))
			}
			if free < need {
				return true
			}
		}
	}
	return false
}

// floorRow is the row of the first or the last floor of a candidate that is too small
// for a kind, or -1.
func (x *exact) floorRow(e *eligible, kind resources.Kind, last bool) (row int) {
	row = -1
	if len(x.ofFloor) == 0 {
		return row
	}
	for _, f := range e.Floors {
		if of := x.ofFloor[int(f)*x.width+int(kind)]; of >= 0 && (last || row < 0) {
			row = of
		}
	}
	return row
}

// setBudgetRows adds a row for each budget that is too small for all candidates.
// A violation takes one more than it allows. Of all those budgets together, each
// victim takes from an allowance or violates. Those of a budget that allows none
// violate in any case.
func (x *exact) setBudgetRows() {
	x.ofBudget, x.together, x.always, x.single = x.ofBudget[:0], -1, -1, true
	if x.limit < 0 || len(x.node.Budgets) == 0 {
		return
	}
	x.counts = slices.Grow(x.counts[:0], len(x.node.Budgets))[:len(x.node.Budgets)]
	clear(x.counts)
	for _, i := range x.able {
		for _, b := range x.ranked[i].Budgets {
			x.counts[b]++
		}
	}
	contended, allowances, none := 0, int64(x.limit), false
	for b := range x.node.Budgets {
		allowed := max(x.node.Budgets[b].Allowed, 0)
		x.ofBudget = append(x.ofBudget, -1)
		if x.counts[b] > allowed {
			x.ofBudget[b] = x.addRow(int64(allowed) + int64(x.limit))
			allowances += int64(allowed)
			contended++
			none = none || allowed == 0
		}
	}
	if contended > 1 && x.limit > 0 {
		x.together = x.addRow(allowances)
	}
	if none && x.limit > 0 {
		x.always = x.addRow(int64(x.limit))
	}
	for _, i := range x.able {
		of := 0
		for _, b := range x.ranked[i].Budgets {
			if x.ofBudget[b] >= 0 {
				of++
			}
		}
		x.single = x.single && of <= 1
	}
}

// setColumns fills in what each candidate adds to each row.
func (x *exact) setColumns() {
	n := len(x.able) * len(x.bounds)
	x.columns = slices.Grow(x.columns[:0], n)[:n]
	clear(x.columns)
	for place, i := range x.able {
		e, column := &x.ranked[i], x.column(place)
		for k, need := range x.need {
			column[k] = min(e.held[k], need)
		}
		for clause := range x.clauseCount() {
			if x.clauses[clause*len(x.ranked)+i] {
				column[len(x.need)+clause] = 1
			}
		}
		x.setFloorColumn(e, column)
		if x.counting >= 0 {
			column[x.counting] = 1
		}
		x.setBudgetColumn(e, column)
	}
}

func (x *exact) setFloorColumn(e *eligible, column []int64) {
	if len(x.ofFloor) == 0 {
		return
	}
	for _, f := range e.Floors {
		for kind, v := range e.Amounts {
			if row := x.ofFloor[int(f)*x.width+kind]; row >= 0 {
				column[row] = max(v, 0)
			}
		}
	}
}

func (x *exact) setBudgetColumn(e *eligible, column []int64) {
	if len(x.ofBudget) == 0 {
		return
	}
	for _, b := range e.Budgets {
		row := x.ofBudget[b]
		if row < 0 {
			continue
		}
		column[row] = 1
		if x.together >= 0 {
			column[x.together] = 1
		}
		if x.always >= 0 && x.node.Budgets[b].Allowed <= 0 {
			column[x.always] = 1
		}
	}
}
