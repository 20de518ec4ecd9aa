package preemptor

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestVictimsForAsksBehind has a victim that serves the ask and a larger one behind it,
// and one that serves the ask alone.
func TestVictimsForAsksBehind(t *testing.T) {
	for _, trigger := range []Trigger{Priority, Guarantee} {
		s := situation{cfg: DefaultConfig(), ask: Ask{Trigger: trigger, Amounts: resources.Amounts{1}, Priority: 9}}
		s.node = Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1), On: []Candidate{
			{Key: "large", Amounts: resources.Amounts{4}}, {Key: "small", Amounts: resources.Amounts{1}},
		}}
		s.ask.Waiting = 1
		s.ask.Behind = &Behind{Asks: []Waiting{{resources.Amounts{3}, 1}, {resources.Amounts{2}, 1}}, Step: resources.Amounts{1}}
		d := s.plan()
		assert.Equal(t, d.Together, Together{Asks: 2, Victims: 1})
		assert.Equal(t, d.Victims[0].Key, "large")

		s.ask.Behind.Owed = resources.Limits{3} // the one of 3 is not owed beside the ask
		d = s.plan()
		assert.Equal(t, d.Together, Together{Asks: 2, Victims: 1})

		s.ask.Behind.Owed = resources.Limits{2}
		assert.Equal(t, s.plan().Together, Together{})
	}
}

// TestLeastAmong compares the bound with what any victims serve.
func TestLeastAmong(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 78))
		step := 1 + r.Int64N(4)
		asked, free, one := step*(1+r.Int64N(5)), r.Int64N(9)-2, 1+r.Int64N(9)
		if free >= asked {
			continue
		}
		least := LeastAmong(resources.Amounts{asked}, resources.Amounts{free}, nil, resources.Amounts{one}, resources.Amounts{step})
		for victims := int64(1); victims < 100; victims++ {
			if serve := (free + victims*one) / step * step; serve >= asked {
				assert.Assert(t, least <= victims*wholeAsk*asked/serve, "seed %d: %d victims", seed, victims)
			}
		}
	}
}
