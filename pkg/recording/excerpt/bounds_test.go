package excerpt

import (
	"testing"

	"gotest.tools/v3/assert"
)

// However large a recording is, shrinking it ends after so many scenarios, and after so many commands in them.
func TestShrinkingEnds(t *testing.T) {
	for _, c := range []struct {
		played, commands int
		enough           bool
	}{
		{9_999, 19_999_999, false},
		{10_000, 0, true},
		{0, 20_000_000, true},
	} {
		r := &reducer{ctx: t.Context(), played: c.played, commands: c.commands, tried: map[uint64]bool{}, shows: func(string) bool { return true }}
		assert.Equal(t, r.enough(), c.enough)
		assert.Equal(t, r.holds(nil), !c.enough, "what is not played does not count")
	}
}
