package core_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// TestLongHistories plays random histories for long, with all laws after each step: some that broke a law
// once, and in make torture 200.
func TestLongHistories(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	all := []uint64{39, 102, 138, 2130000093}
	if _, _, torture := seeds.Torture(t); torture {
		all = slices.Collect(seeds.Of(t, 200))
	}
	for _, seed := range all {
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
