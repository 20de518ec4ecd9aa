package preemptor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// crowd is an ask on a full node with so many candidates, each as large as the ask, of
// which some conflict with it and others are needed. Questions are counted.
func crowd(candidates int, conflicts, needs []string) (ask Ask, on Node, asked *int) {
	kinds := new(resources.Kinds)
	kind, err := kinds.Intern("vcore")
	if err != nil {
		panic(err)
	}
	amounts := make(resources.Amounts, kind+1)
	amounts.Set(kind, 1)
	ask = Ask{Trigger: Priority, Key: "ask", Amounts: amounts, Priority: 10}
	on = Node{Kinds: kinds}
	for i := range candidates {
		on.On = append(on.On, Candidate{Key: fmt.Sprint("c", i), Amounts: amounts, Priority: int32(i % 5)})
	}
	asked = new(int)
	on.Fits = func(removed []string) error {
		*asked++
		for _, key := range conflicts {
			if !slices.Contains(removed, key) {
				return errors.New("conflicts with " + key)
			}
		}
		for _, key := range needs {
			if slices.Contains(removed, key) {
				return errors.New("needs " + key)
			}
		}
		return nil
	}
	return ask, on, asked
}

// TestNeededCandidatesStay: what the ask needs beside it is no victim, also where
// something conflicts with it, and the number of questions is bounded.
func TestNeededCandidatesStay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for range 300 {
		n := 3 + r.IntN(neededAndConflictMax-2)
		keys := r.Perm(n)
		conflicts, needs := []string{}, []string{}
		for _, i := range keys[:r.IntN(2)] {
			conflicts = append(conflicts, fmt.Sprint("c", i))
		}
		for _, i := range keys[1:][:1+r.IntN(2)] {
			needs = append(needs, fmt.Sprint("c", i))
		}
		if len(conflicts)+len(needs) == n { // nothing else is left, which is enough with a conflict only
			continue
		}
		ask, on, asked := crowd(n, conflicts, needs)
		d := Plan(epoch, DefaultConfig(), ask, on)
		assert.Equal(t, d.Reason, Chosen, "%d candidates, conflicts %v, needs %v: %s", n, conflicts, needs, d)
		victims := []string{}
		for _, v := range d.Victims {
			victims = append(victims, v.Key)
		}
		assert.NilError(t, on.Fits(victims))
		assert.Equal(t, len(victims), 1)
		assert.Assert(t, *asked <= 7*n+5, "asked %d times about %d candidates", *asked, n)
	}
}

// TestNeededBounds: with more candidates, or a reason that is always the same, the search
// is not begun. Up to the bound it is.
func TestNeededBounds(t *testing.T) {
	low := []string{"c0", "c5"} // of the least importance
	for _, c := range []struct {
		candidates int
		conflicts  []string
		reason     Reason
		most       int
	}{
		{neededMax, nil, Chosen, 3*neededMax + 5},
		{neededMax + 1, nil, Refused, 5},
		{10 * neededMax, nil, Refused, 5},
		{neededAndConflictMax, []string{"c1"}, Chosen, 7*neededAndConflictMax + 5},
		{10 * neededAndConflictMax, []string{"c1"}, Refused, 5},
		{neededAndConflictMax, []string{"elsewhere"}, Refused, 5},
	} {
		ask, on, asked := crowd(c.candidates, c.conflicts, low)
		d := Plan(epoch, DefaultConfig(), ask, on)
		assert.Equal(t, d.Reason, c.reason, "%v: %s", c, d)
		assert.Assert(t, *asked <= c.most, "%v: asked %d times", c, *asked)
	}
}
