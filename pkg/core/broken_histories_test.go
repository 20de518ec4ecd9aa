package core_test

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestHistoriesThatBrokeALaw plays histories in which once something was wrong: in the core, or
// in what the test takes for granted of it.
func TestHistoriesThatBrokeALaw(t *testing.T) {
	for _, c := range []struct{ seed, stream uint64 }{
		{6016, 21}, // a node whose reservation gives way again was taken for closed
		{2620, 21}, // quota is kept for an ask with a required node that has room
		{3990, 21}, // and from the moment when it is reserved
		{2314, 5},  // room is kept from an ask that waited already
		{3151, 5},  // a node is not reserved any more, in the same call
		{518, 9},   // the least of what waits became zero, of more kinds than before
	} {
		h := newHistory(seeded(c.seed, c.stream))
		for i := range 160 {
			h.step()
			assert.NilError(t, h.broken, "seed %d, step %d", c.seed, i)
			assert.NilError(t, h.p.Verify(), "seed %d, step %d", c.seed, i)
			assert.NilError(t, h.p.VerifyAttempts(), "seed %d, step %d", c.seed, i)
		}
	}
}
