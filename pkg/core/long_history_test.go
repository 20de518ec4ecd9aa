package core_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"gotest.tools/v3/assert"
)

// TestLongHistories plays random histories for long, with all laws after each step.
// HISTORIES="seed count steps" plays others.
func TestLongHistories(t *testing.T) {
	seed, count, steps := uint64(1), uint64(2), 2500
	if text := os.Getenv("HISTORIES"); text != "" {
		if _, err := fmt.Sscan(text, &seed, &count, &steps); err != nil {
			t.Fatal("HISTORIES is not a seed, a count and how many steps: ", err)
		}
	}
	for s := seed; s < seed+count; s++ {
		h := newMixedHistory(rand.New(rand.NewPCG(s, 83)), byte(s))
		for i := range steps {
			h.lawful(t, s, i)
		}
		h.settle(t)
	}
}

// lawful is a step after which all laws must hold.
func (h *history) lawful(t *testing.T, seed uint64, i int) (done any) {
	t.Helper()
	done = h.step()
	assert.NilError(t, h.broken, "seed %d, step %d", seed, i)
	assert.NilError(t, h.p.Verify(), "seed %d, step %d: %T%+v", seed, i, done, done)
	assert.NilError(t, h.p.VerifyAttempts(), "seed %d, step %d: %T%+v", seed, i, done, done)
	return done
}
