package worlds

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// answers is how the resource manager gives its answers. What is true does not depend on it,
// so the oracle does not know of it.
type answers uint8

const (
	answersAll     answers = iota
	answersNever           // of a node that it refuses whatever ends there, it says so
	answersNothing         // it does not simulate, where no answer depends on other pods; else as all
	answersPrefix          // it simulates that pods end, and knows nothing of asks that are to come beside
)

// errNever refuses a node whatever ends there.
type errNever struct{ error }

func (errNever) Unresolvable() bool { return true }

func (w *world) refusal(r rule) error {
	err := fmt.Errorf("%w: %s %s", errRefused, r.Verb, r.Other)
	if w.Answers == answersNever && r.Verb == "refuse" {
		return errNever{err}
	}
	return err
}

// simulates answers for a node that was changed in thought.
func (g *game) simulates(key, node string, add, remove []api.AllocationKey) error {
	beside := len(add) > 0 && remove == nil && g.w.pod(key).Quorum != "" // a member, and others that are placed with it
	if g.w.Answers == answersPrefix {
		add = nil
	}
	err := g.allows(key, node, add, remove)
	if err == nil && beside {
		g.agreed[[2]string{key, node}] = true
	}
	return err
}

// ruledBetweenAsks reports whether an answer about an ask depends on another ask.
func (w *world) ruledBetweenAsks() bool {
	return slices.ContainsFunc(w.Rules, func(r rule) bool {
		other := w.pod(r.Other)
		return other != nil && other.Node == ""
	})
}

func (w *world) onlyRefuses() bool {
	return !slices.ContainsFunc(w.Rules, func(r rule) bool { return r.Verb != "refuse" })
}

// askDifferently has questions be about classes or several nodes at once, or be held back.
func (g *game) askDifferently(o *api.Options) {
	if o.Feasible == nil {
		return
	}
	if g.w.Classes {
		o.Constraints = func(key api.AllocationKey) string {
			if g.isRuled(g.w.pod(string(key))) {
				return string(key)
			}
			return "others"
		}
	}
	if g.w.Several {
		o.FeasibleOn = func(key api.AllocationKey, nodes []api.NodeID, allocate bool) []error {
			list := make([]error, len(nodes))
			for i, n := range nodes {
				list[i] = g.agrees(string(key), string(n), allocate)
			}
			return list
		}
	}
	if g.w.Paced {
		g.saw("questions are paced", true)
		o.Pace = func(q api.Question) time.Duration { // a fifth of the time
			if second := g.now.Unix() % 5; q != api.FirstQuestion && second != 0 {
				return time.Unix(g.now.Unix()-second+5, 0).Sub(g.now)
			}
			return 0
		}
	}
}
