package explanation

import (
	"context"
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestPredicateRun asks at most so often, of ten times as many questions, and not again what
// was not answered.
func TestPredicateRun(t *testing.T) {
	count, broken := 0, 10*whatIfPredicatesMax
	of := Config{Feasible: func(context.Context, string, api.AllocationKey, api.NodeID) (refused, err error) {
		if count++; count > broken {
			return nil, errors.New("gone")
		}
		return errors.New("refused"), nil
	}}
	play := func() (*predicateRun, int) {
		count = 0
		run, refused := &predicateRun{ctx: t.Context(), config: of}, 0
		ask := run.feasible()
		for range 10 * whatIfPredicatesMax {
			if ask("k", "n", true) != nil {
				refused++
			}
		}
		return run, refused
	}
	run, refused := play()
	assert.Equal(t, refused, whatIfPredicatesMax)
	assert.Equal(t, count, whatIfPredicatesMax)
	assert.Equal(t, run.told(false), predicatesPartly)
	broken = 7
	run, refused = play()
	assert.Equal(t, refused, 7)
	assert.Equal(t, count, 8)
	assert.Equal(t, run.told(false), predicatesPartly)
	broken = 0
	run, _ = play()
	assert.Equal(t, run.told(false), predicatesSilent)
}
