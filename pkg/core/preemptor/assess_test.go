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

// TestAssessMakesNoGarbage pins what is called for every node.
func TestAssessMakesNoGarbage(t *testing.T) {
	s := smallNode(40)
	s.node.Budgets = []Budget{{Name: "web", Allowed: 1}}
	s.node.Floors = []Floor{{Queue: "root.a", Surplus: resources.Limits{8, 8, 8}}}
	for i := range s.node.On {
		s.node.On[i].Budgets, s.node.On[i].Floors = []int32{0}, []int32{0}
	}
	for _, s := range []situation{smallNode(4), smallNode(40), s} {
		var pl Planner
		cost := pl.Assess(s.cfg, s.ask, s.node)
		assert.Assert(t, cost.Feasible(), "%v", cost)
		assert.Equal(t, testing.AllocsPerRun(100, func() { pl.Assess(s.cfg, s.ask, s.node) }), 0.0)
		assert.Equal(t, pl.Plan(epoch, s.cfg, s.ask, s.node).Cost, cost)
	}
}

func BenchmarkAssess(b *testing.B) {
	for _, pods := range []int{4, 30, 110} {
		s := smallNode(pods)
		b.Run(fmt.Sprint(pods), func(b *testing.B) {
			var pl Planner
			for b.Loop() {
				pl.Assess(s.cfg, s.ask, s.node)
			}
		})
	}
}
