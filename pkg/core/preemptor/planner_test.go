package preemptor

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// smallNode is what priority preemption mostly sees: a full node of a few pods.
func smallNode(pods int) situation {
	kinds := kindsOf(rand.New(rand.NewPCG(1, 1)), 3)
	s := situation{cfg: Config{}, node: Node{Kinds: kinds, Free: resources.Amounts{0, 1, 0}}}
	s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 9, Amounts: resources.Amounts{4, 4, 1}}
	for i := range pods {
		s.node.On = append(s.node.On, Candidate{
			Key: fmt.Sprint("pod-", i), Priority: int32(i * 7 % 5), Created: epoch.Add(time.Duration(i*5%7) * time.Minute),
			Amounts: resources.Amounts{int64(1 + i%3), int64(2 + i%2), 1},
		})
	}
	return s
}

// TestCostMakesNoGarbage checks that Cost, which runs for every node, allocates
// nothing.
func TestCostMakesNoGarbage(t *testing.T) {
	s := smallNode(40)
	s.node.Budgets = []Budget{{Name: "web", Allowed: 1}}
	s.node.Floors = []Floor{{Queue: "root.a", Surplus: resources.Limits{8, 8, 8}}}
	for i := range s.node.On {
		s.node.On[i].Budgets, s.node.On[i].Floors = []int32{0}, []int32{0}
	}
	for _, s := range []situation{smallNode(4), smallNode(40), s} {
		var pl Planner
		cost := pl.Cost(s.cfg, s.ask, s.node)
		assert.Assert(t, cost.Feasible(), "%v", cost)
		assert.Equal(t, testing.AllocsPerRun(100, func() { pl.Cost(s.cfg, s.ask, s.node) }), 0.0)
		assert.Equal(t, pl.Plan(epoch, s.cfg, s.ask, s.node).Cost, cost)
	}
}

// quotaNode is a node of some pods and a queue that is short, with others of its
// pods on other nodes, below four queues of which each can spare a third.
func quotaNode(r *rand.Rand, family, here, elsewhere int) situation {
	s := hardNode(r, family, here+elsewhere, 2)
	s.cfg, s.ask.Trigger = Config{}, Guarantee
	sums := make([]resources.Amounts, 5)
	for i := range s.node.On {
		c := &s.node.On[i]
		c.Foreign, c.Elsewhere = false, i >= here
		c.Floors = []int32{int32(1 + i%4), 0}
		for _, f := range c.Floors {
			sums[f].Add(c.Amounts)
		}
	}
	for f, sum := range sums {
		floor := Floor{Queue: fmt.Sprint("root.", f)}
		for kind, v := range sum {
			floor.Surplus.Set(resources.Kind(kind), v/3)
		}
		s.node.Floors = append(s.node.Floors, floor)
	}
	s.node.Quota = s.node.On[0].Amounts.Plus(s.node.On[here].Amounts)
	s.ask.Amounts = s.node.On[1].Amounts.Plus(s.node.On[2].Amounts)
	return s
}

// BenchmarkGuarantee measures what is not for every node: exact minima within
// floors, where there are few candidates, and reprieves where there are many.
func BenchmarkGuarantee(b *testing.B) {
	for _, n := range []int{10, 50, 300} {
		for family := range families {
			b.Run(fmt.Sprintf("%d/%s", n, families[family].name), func(b *testing.B) {
				measure(b, 100, func(i uint64) situation { return quotaNode(rand.New(rand.NewPCG(i, 0)), family, 10, n) })
			})
		}
	}
}

func BenchmarkCost(b *testing.B) {
	for _, pods := range []int{4, 30, 110} {
		plain, bound := smallNode(pods), smallNode(pods)
		for f := range 5 {
			bound.node.Floors = append(bound.node.Floors, Floor{Queue: fmt.Sprint("root.", f), Surplus: resources.Limits{9, 9}})
		}
		bound.node.Budgets = []Budget{{Name: "web", Allowed: 1}, {Name: "db", Allowed: 1}}
		for i := range bound.node.On {
			bound.node.On[i].Floors, bound.node.On[i].Budgets = []int32{int32(1 + i%4), 0}, []int32{int32(i % 2)}
		}
		for _, c := range []struct {
			name string
			situation
		}{{"plain", plain}, {"floors-and-budgets", bound}} {
			b.Run(fmt.Sprintf("%d/%s", pods, c.name), func(b *testing.B) {
				var pl Planner
				for b.Loop() {
					pl.Cost(c.cfg, c.ask, c.node)
				}
			})
		}
	}
}
