package seeds

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// TestOf: a fifth of the worlds, and all with TORTURE, from its seed on.
func TestOf(t *testing.T) {
	t.Setenv("TORTURE", "")
	assert.DeepEqual(t, slices.Collect(Of(t, 11)), []uint64{0, 1, 2})
	assert.Equal(t, Part(t, 500), 100)
	for seed := range Of(t, 11) {
		if seed == 1 {
			break
		}
	}

	t.Setenv("TORTURE", "70 1000")
	assert.DeepEqual(t, slices.Collect(Of(t, 3)), []uint64{70, 71, 72})
	assert.Equal(t, Part(t, 500), 500)
	first, count, asked := Torture(t)
	assert.Assert(t, asked && first == 70 && count == 1000)
}
