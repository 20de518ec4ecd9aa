package preemptor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// pairs is a node of pairs of pods. The ask conflicts with each pair until one of the two
// goes, and a budget forbids that the first does of more than half of the pairs. The first is
// less important, so that the greedy choice exceeds the budget.
func pairs(count int) (s situation, asked *int) {
	s = situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 2)}}
	s.cfg.Budgets = HardBudgets
	s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 30, Amounts: resources.Amounts{1}}
	s.node.Budgets = []Budget{{Name: "firsts", Allowed: count / 2}}
	for i := range 2 * count {
		c := Candidate{Key: fmt.Sprintf("c%04d", i), Priority: int32(i % 2), Created: epoch.Add(-time.Duration(i) * time.Minute), Amounts: resources.Amounts{1}}
		if i%2 == 0 {
			c.Budgets = []int32{0}
		}
		s.node.On = append(s.node.On, c)
	}
	asked = new(int)
	place := map[string]int{}
	for i, c := range s.node.On {
		place[c.Key] = i
	}
	gone := make([]bool, 2*count)
	s.node.Fits = func(removed []string) error {
		*asked++
		clear(gone)
		for _, key := range removed {
			gone[place[key]] = true
		}
		for i := range count {
			if !gone[2*i] && !gone[2*i+1] {
				return errors.New("conflicts with a pair")
			}
		}
		return nil
	}
	return s, asked
}

const pairsMany = 64

// TestManyConditions: of each of many pairs one must go. What is chosen is lawful, or the
// search was stopped, and it is never said that there are none.
func TestManyConditions(t *testing.T) {
	var pl Planner
	for _, count := range []int{1, pairsMany / 2, pairsMany + 1, 10 * pairsMany} {
		s, asked := pairs(count)
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		t.Logf("%d pairs: %s, %d victims, %v, %d questions", count, d.Reason, len(d.Victims), d.Failures, *asked)
		if d.Reason == Chosen {
			assert.Equal(t, d.Violations, 0)
			assert.NilError(t, s.node.Fits(removedWith(s, victimsOf(d))))
			continue
		}
		stopped := slices.ContainsFunc(d.Failures, func(f Failure) bool { return f.Why == TooLong })
		assert.Assert(t, stopped && count > pairsMany/2, "%d pairs: %s", count, d)
	}
}

// TestManyFailedStates searches for victims of an exact sum among sizes that are all
// even. Many more states fail than are remembered: no sum is odd, and whether an even one is
// found or the search is stopped, it is not said that there is none.
func TestManyFailedStates(t *testing.T) {
	var pl Planner
	most := int64(0)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 41))
		s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(r, 2)}}
		s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 30}
		sum := int64(0)
		for i := range 48 {
			size := 2 * (1<<20 + r.Int64N(1<<20))
			s.node.On = append(s.node.On, Candidate{
				Key: fmt.Sprintf("c%03d", i), Created: epoch.Add(-time.Duration(i) * time.Minute),
				Amounts: resources.Amounts{size}, Floors: []int32{0},
			})
			if i%3 == 0 {
				sum += size
			}
		}
		for _, odd := range []int64{0, 1} {
			s.ask.Amounts = resources.Amounts{sum + odd}
			s.node.Floors = []Floor{{Queue: "root.a", Surplus: resources.Limits{sum + odd}}}
			d := pl.Plan(epoch, s.cfg, s.ask, s.node)
			most = max(most, pl.plan.search.steps)
			stopped := slices.ContainsFunc(d.Failures, func(f Failure) bool { return f.Why == TooLong })
			if odd == 1 {
				assert.Assert(t, d.Reason != Chosen, "seed %d: %s", seed, d)
				continue
			}
			assert.Assert(t, d.Reason == Chosen || stopped, "seed %d: %s", seed, d)
			if d.Reason == Chosen {
				s.checkChoice(t, seed, d)
			}
		}
	}
	t.Logf("at most %d steps", most)
	assert.Assert(t, most > 1000)
}

// TestSteepFactors plans where what a victim frees and what it uses up differ by far more
// than the bound of a multiplier, and finds victims if and only if there are any.
func TestSteepFactors(t *testing.T) {
	var pl Planner
	found, none := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 43))
		s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(r, 2)}}
		s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 30, Amounts: make(resources.Amounts, 2)}
		surplus := make(resources.Amounts, 2)
		for i := range 10 {
			amounts := resources.Amounts{1 + r.Int64N(20), 10 * 8192 * (1 + r.Int64N(20))}
			if r.IntN(3) == 0 {
				amounts[0], amounts[1] = amounts[1], amounts[0]
			}
			s.node.On = append(s.node.On, Candidate{
				Key: fmt.Sprintf("c%03d", i), Created: epoch.Add(-time.Duration(i) * time.Minute), Amounts: amounts, Floors: []int32{0},
			})
			if r.IntN(2) == 0 {
				s.ask.Amounts.Add(amounts)
				surplus.Add(amounts)
			}
		}
		for k := range s.ask.Amounts {
			s.ask.Amounts[k] += r.Int64N(3) - 1
			surplus[k] += r.Int64N(3) - 1
		}
		s.node.Floors = []Floor{{Queue: "root.a", Surplus: resources.Limits{max(surplus[0], 0), max(surplus[1], 0)}}}
		lawful := false
		for victims := range setsOf(s.node.On) {
			lawful = lawful || s.enough(victims) && s.keeps(victims)
		}
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		room := d.Reason == Chosen || d.Reason == RoomIsThere
		assert.Equal(t, room, lawful, "seed %d: %s", seed, d)
		if lawful {
			found++
		} else {
			none++
		}
	}
	t.Logf("%d with victims, %d without", found, none)
	assert.Assert(t, found > 40 && none > 40)
}
