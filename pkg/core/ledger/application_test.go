package ledger

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestMoves walks all pairs of states.
func TestMoves(t *testing.T) {
	now := time.Unix(1, 0)
	for from := api.New; from <= api.Failed; from++ {
		for to := api.New; to <= api.Failed; to++ {
			a := &Application{ID: "a", State: from}
			err := a.MoveTo(to, now)
			if slices.Contains(moves[from], to) {
				assert.NilError(t, err)
				assert.Equal(t, a.State, to)
				assert.Equal(t, a.Since, now)
				continue
			}
			assert.Assert(t, errors.Is(err, errNoMove), "%s to %s", from, to)
			assert.ErrorContains(t, err, "application a: "+from.String()+" to "+to.String())
			assert.Equal(t, a.State, from)
		}
	}
}
