package core_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"gotest.tools/v3/assert"
)

// TestLongHistories plays random histories for long, with all laws after each step: some that broke a law
// once. HISTORIES="seed count" plays so many from a seed on.
func TestLongHistories(t *testing.T) {
	seeds := []uint64{39, 102, 138}
	if text := os.Getenv("HISTORIES"); text != "" {
		var seed, count uint64
		if _, err := fmt.Sscan(text, &seed, &count); err != nil {
			t.Fatal("HISTORIES is not a seed and a count: ", err)
		}
		seeds = nil
		for s := seed; s < seed+count; s++ {
			seeds = append(seeds, s)
		}
	}
	for _, seed := range seeds {
		h := newMixedHistory(rand.New(rand.NewPCG(seed, 83)), byte(seed))
		for i := range 5000 {
			h.lawful(t, seed, i)
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
