package core_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// tortureAnswers is how the resource manager gives its answers. What is true does not depend on it,
// so the oracle does not know of it.
type tortureAnswers uint8

const (
	answersAll     tortureAnswers = iota
	answersNever                  // of a node that it refuses whatever ends there, it says so
	answersNothing                // it does not simulate, where no answer depends on other pods; else as all
	answersPrefix                 // it simulates that pods end, and knows nothing of asks that are to come beside
)

// errNever refuses a node whatever ends there.
type errNever struct{ error }

func (errNever) Unresolvable() bool { return true }

func (w *tortureWorld) refusal(r tortureRule) error {
	err := fmt.Errorf("%w: %s %s", errTorture, r.Verb, r.Other)
	if w.Answers == answersNever && r.Verb == "refuse" {
		return errNever{err}
	}
	return err
}

// simulates answers for a node that was changed in thought.
func (g *tortureGame) simulates(key, node string, add, remove []core.AllocationKey) error {
	if g.w.Answers == answersPrefix {
		add = nil
	}
	return g.allows(key, node, add, remove)
}

// ruledBetweenAsks reports whether an answer about an ask depends on another ask.
func (w *tortureWorld) ruledBetweenAsks() bool {
	return slices.ContainsFunc(w.Rules, func(r tortureRule) bool {
		other := w.pod(r.Other)
		return other != nil && other.Node == ""
	})
}

func (w *tortureWorld) onlyRefuses() bool {
	return !slices.ContainsFunc(w.Rules, func(r tortureRule) bool { return r.Verb != "refuse" })
}

// TestTortureAnswers sees that the ways to answer come about where room is made and where an ask waits:
// otherwise worlds would show nothing of them.
func TestTortureAnswers(t *testing.T) {
	came := map[string]int{}
	for seed := range uint64(2500) {
		w := newTortureWorld(seed)
		if len(w.Rules) == 0 || w.Answers == answersAll {
			continue
		}
		asked := ""
		g := newTortureGame(w, func(o *core.Options) {
			feasible := o.Feasible
			o.Feasible = func(key core.AllocationKey, node core.NodeID, allocate bool) error {
				err := feasible(key, node, allocate)
				var never errNever
				switch {
				case errors.As(err, &never):
					asked = "never"
				case err != nil && o.Simulate == nil:
					asked = "nothing is simulated"
				}
				return err
			}
		})
		g.play()
		assert.Equal(t, len(g.broken), 0, "seed %d", seed)
		if asked != "" {
			came[asked]++
			came[asked+", and room is made"] += count(len(g.evictions) > 0)
			came[asked+", and an ask waits"] += count(len(g.waits) > 0)
		}
	}
	t.Log(came)
	for _, what := range []string{"never", "nothing is simulated"} {
		assert.Assert(t, came[what+", and room is made"] >= 10 && came[what+", and an ask waits"] >= 10, "%s: %v", what, came)
	}
}
