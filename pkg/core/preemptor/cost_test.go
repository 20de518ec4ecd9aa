package preemptor

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestBetterNode compares nodes on which all candidates are needed: by the
// violations of budgets, the highest priority, the sum of priorities, and age.
func TestBetterNode(t *testing.T) {
	type pods []Candidate
	of := func(priorities ...int32) pods {
		var on pods
		for _, priority := range priorities {
			on = append(on, Candidate{Priority: priority, Created: epoch})
		}
		return on
	}
	younger := of(3, 1)
	younger[0].Created, younger[1].Created = epoch.Add(time.Minute), epoch.Add(-time.Hour)
	budgeted := of(0)
	budgeted[0].Budgets = []int32{0}
	for _, c := range []struct {
		name          string
		better, worse pods
	}{
		{"the lower highest priority", of(3, 3), of(5)},
		{"the smaller sum", of(3, 1), of(3, 3)},
		{"one rather than two", of(3), of(3, -9)},
		{"one rather than two of the lowest", of(3), of(3, math.MinInt32)},
		{"the younger of the highest priority", younger, of(3, 1)},
		{"no violation", of(9), budgeted},
		{"no victim", nil, of(math.MinInt32)},
	} {
		cost := func(on pods, cfg Config) Cost {
			s := situation{cfg: cfg, node: Node{Kinds: &resources.Kinds{}, Budgets: []Budget{{Name: "web"}}}}
			_, err := s.node.Kinds.Intern("vcore")
			assert.NilError(t, err)
			s.ask = Ask{Trigger: Priority, Priority: 10, Amounts: resources.Amounts{int64(len(on))}}
			for i := range on {
				on[i].Key, on[i].Amounts = string(rune('a'+i)), resources.Amounts{1}
			}
			s.node.On = on
			var pl Planner
			return pl.Cost(s.cfg, s.ask, s.node)
		}
		better, worse := cost(c.better, Config{}), cost(c.worse, Config{})
		assert.Assert(t, better.Compare(worse) < 0 && worse.Compare(better) > 0, "%s: %v, %v", c.name, better, worse)
		assert.Assert(t, better.Feasible() && worse.Feasible(), c.name)
		if c.name == "no violation" {
			strict := Config{Budgets: StrictPriority}
			assert.Assert(t, cost(c.better, strict).Compare(cost(c.worse, strict)) > 0, "priority first, if strict")
		}
	}
}

// TestNearMiss sees that the least missing is the best of those that make no
// room, and that any that does is better.
func TestNearMiss(t *testing.T) {
	kinds := kindsOf(rand.New(rand.NewPCG(0, 0)), 2)
	cost := func(held int64, cfg Config) Cost {
		var pl Planner
		ask := Ask{Trigger: Priority, Priority: 1, Amounts: resources.Amounts{1000}}
		return pl.Cost(cfg, ask, Node{Kinds: kinds, On: []Candidate{{Key: "a", Amounts: resources.Amounts{held}}}})
	}
	costs := []Cost{cost(1000, Config{}), cost(999, Config{}), cost(750, Config{}), cost(1, Config{}), cost(0, Config{})}
	for i, want := range []int64{0, 1, 250, 999, 1000} {
		assert.Equal(t, costs[i].MissingPerMille(), want)
		assert.Equal(t, costs[i].Feasible(), i == 0)
		assert.Assert(t, i == 0 || costs[i-1].Compare(costs[i]) < 0)
	}
	assert.Equal(t, cost(1000, Config{Disabled: true}), Cost{1, missingWhole})
}

// TestOrdersAreTotal holds the comparison of candidates and of costs to the
// laws of a total preorder, at the ends of the numbers too.
func TestOrdersAreTotal(t *testing.T) {
	kinds := kindsOf(rand.New(rand.NewPCG(0, 0)), 2)
	r := rand.New(rand.NewPCG(0, 9))
	quantities := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	priorities := []int32{math.MinInt32, -1, 0, 1, math.MaxInt32}
	times := []time.Time{{}, epoch, epoch.Add(1), time.Unix(1<<62, 0), time.Unix(-1<<62, 0)}
	candidate := func() *Candidate {
		c := &Candidate{
			Key: []string{"", "a", "b"}[r.IntN(3)], Priority: priorities[r.IntN(5)], Created: times[r.IntN(5)], QoS: QoS(r.IntN(3)),
			Owner: r.IntN(2) == 0, OptedOut: r.IntN(2) == 0, Foreign: r.IntN(2) == 0,
		}
		for range r.IntN(3) {
			c.Amounts = append(c.Amounts, quantities[r.IntN(5)])
		}
		return c
	}
	cost := func() Cost {
		var c Cost
		for i := range c {
			c[i] = quantities[r.IntN(5)]
		}
		return c
	}
	for i := range 20_000 {
		p := &plan{}
		p.start(Config{ByQoS: i%2 == 0}, Ask{Trigger: Trigger(i % Triggers)}, Node{Kinds: kinds})
		a, b, c := p.eligibleOf(candidate()), p.eligibleOf(candidate()), p.eligibleOf(candidate())
		checkTotal(t, p.compare(&a, &b), p.compare(&b, &a), p.compare(&b, &c), p.compare(&a, &c))
		assert.Equal(t, p.compare(&a, &a), 0)
		x, y, z := cost(), cost(), cost()
		checkTotal(t, x.Compare(y), y.Compare(x), y.Compare(z), x.Compare(z))
		assert.Equal(t, nanos(a.Created) <= nanos(b.Created), !a.Created.After(b.Created) || nanos(a.Created) == nanos(b.Created))
	}
	assert.Assert(t, slices.IsSortedFunc([]time.Time{times[4], times[0], times[1], times[2], times[3]},
		func(a, b time.Time) int { return cmp.Compare(nanos(a), nanos(b)) }))
}

func checkTotal(t *testing.T, ab, ba, bc, ac int) {
	t.Helper()
	assert.Equal(t, ab, -ba)
	if ab <= 0 && bc <= 0 {
		assert.Assert(t, ac <= 0)
	}
	if ab == 0 {
		assert.Equal(t, ac, bc)
	}
}

// TestCostExtremes checks that nothing overflows, for any trigger.
func TestCostExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(0, 10))
	kinds := kindsOf(r, 2)
	quantities := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64}
	amounts := func() resources.Amounts {
		return resources.Amounts{quantities[r.IntN(7)], quantities[r.IntN(7)]}
	}
	var pl Planner
	feasible := 0
	for range 4000 {
		node := Node{Kinds: kinds, Free: amounts(), Quota: amounts(), Budgets: []Budget{{Allowed: []int{math.MinInt, 0, math.MaxInt}[r.IntN(3)]}}}
		node.Floors = []Floor{{Queue: "root", Surplus: resources.Limits(amounts())}}
		for i := range r.IntN(8) {
			c := Candidate{
				Key: string(rune('a' + i)), Amounts: amounts(), Elsewhere: r.IntN(3) == 0, Releasing: r.IntN(8) == 0,
				Priority: []int32{math.MinInt32, 0, math.MaxInt32}[r.IntN(3)], Created: []time.Time{{}, epoch}[r.IntN(2)],
			}
			if r.IntN(2) == 0 {
				c.Floors, c.Budgets = []int32{0}, []int32{0}
			}
			node.On = append(node.On, c)
		}
		cfg := Config{Budgets: BudgetPolicy(r.IntN(3)), EqualsToo: r.IntN(2) == 0}
		ask := Ask{Trigger: Trigger(1 + r.IntN(3)), Priority: []int32{math.MinInt32, math.MaxInt32}[r.IntN(2)], Amounts: amounts()}
		if ask.Trigger == Quota {
			ask.Amounts = nil
		}
		d := pl.Plan(epoch, cfg, ask, node)
		assert.Equal(t, pl.Cost(cfg, ask, node), d.Cost)
		d.Explain(kinds)
		if d.Reason == Chosen {
			feasible++
			assert.Assert(t, LeastCost(cfg, ask.Trigger, 1, math.MinInt32, time.Time{}).Compare(d.Cost) <= 0, "%v", d.Cost)
		}
		for i, figure := range d.Cost {
			assert.Assert(t, figure >= 0 || i >= 1 && d.Cost.Feasible(), "%v", d.Cost)
		}
	}
	assert.Assert(t, feasible > 200, "%d", feasible)
}

// TestUnlimitedStaysSo takes more than there are numbers for below a floor
// without a limit.
func TestUnlimitedStaysSo(t *testing.T) {
	most := resources.Amounts{math.MaxInt64}
	node := Node{Kinds: kindsOf(rand.New(rand.NewPCG(0, 0)), 1), Floors: []Floor{{Queue: "root"}}}
	for _, key := range []string{"a", "b"} {
		node.On = append(node.On, Candidate{Key: key, Amounts: resources.Amounts{math.MaxInt64/2 + 1}, Floors: []int32{0}})
	}
	for _, trigger := range []Trigger{Priority, Guarantee} {
		d := Plan(epoch, Config{}, Ask{Trigger: trigger, Priority: 1, Amounts: most}, node)
		assert.Equal(t, len(d.Victims), 2, "%s", d)
	}
}

// TestSumsDoNotOverflow puts back all but one of several candidates that are each
// enough, and together exceed 64 bits.
func TestSumsDoNotOverflow(t *testing.T) {
	node := Node{Kinds: kindsOf(rand.New(rand.NewPCG(0, 0)), 1)}
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		node.On = append(node.On, Candidate{Key: key, Amounts: resources.Amounts{math.MaxInt64}})
		d := Plan(epoch, Config{}, Ask{Trigger: Priority, Priority: 1, Amounts: resources.Amounts{math.MaxInt64}}, node)
		assert.Equal(t, d.String(), "chosen by most important stay: a")
	}
}
