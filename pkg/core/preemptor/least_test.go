package preemptor

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

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
