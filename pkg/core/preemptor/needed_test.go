package preemptor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
		n := 3 + r.IntN(14)
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
		assert.Assert(t, *asked <= 2*n+60, "asked %d times about %d candidates", *asked, n)
	}
}

// TestNothingGoesWhereRemovalsAreNotSimulated: a resource manager that refuses an ask beside
// free room and agrees to whatever is removed, even to nothing, has not looked at it.
func TestNothingGoesWhereRemovalsAreNotSimulated(t *testing.T) {
	for releasing := range 2 {
		ask, on, _ := crowd(5, nil, nil)
		on.Free = ask.Amounts
		for i := range releasing {
			on.On[i].Releasing = true
		}
		asked := false // about a removal
		on.Fits = func(removed []string) error {
			asked = asked || len(removed) > 0
			if removed == nil || !asked {
				return errors.New("conflicts")
			}
			return nil
		}
		d := Plan(epoch, DefaultConfig(), ask, on)
		assert.Assert(t, d.Reason != Chosen && len(d.Victims) == 0, "%s", d)
	}
}

// TestNeededAmongMany: what the ask needs is found by few questions among any number of
// candidates, with a conflict and without. If more are needed than it may ask about, the
// decision says so. Nothing is asked if the reason is always the same.
func TestNeededAmongMany(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	low := []string{"c0", "c5"} // of the least importance
	for _, c := range []struct {
		candidates       int
		conflicts, needs []string
		reason           Reason
		most             int
	}{
		{64, nil, low, Chosen, 40},
		{640, nil, low, Chosen, 50},
		{6400, nil, low, Chosen, 60},
		{64, nil, first(63), Chosen, questionsMax + 200},
		{640, nil, first(40), Chosen, questionsMax + 10},
		{640, nil, first(400), Refused, 640 + 10},
		{6400, nil, first(300), Chosen, 6400},
		{16, []string{"c1"}, low, Chosen, 80},
		{160, []string{"c1"}, low, Chosen, 250},
		{640, []string{"c1"}, low, Chosen, 740},
		{640, []string{"c1", "c639", "c7", "c8"}, []string{"c2"}, Chosen, 900},
		{640, first(10 * refusalsMax), []string{"c600"}, Refused, 250},
		{16, []string{"elsewhere"}, low, Refused, 5},
	} {
		ask, on, asked := crowd(c.candidates, c.conflicts, c.needs)
		d := Plan(epoch, DefaultConfig(), ask, on)
		what := fmt.Sprintf("%d candidates, conflicts %v, %d needs", c.candidates, c.conflicts, len(c.needs))
		assert.Equal(t, d.Reason, c.reason, "%s: %s", what, d)
		assert.Assert(t, *asked <= c.most, "%s: asked %d times", what, *asked)
		t.Logf("%s: asked %d times", what, *asked)
		stopped := strings.Contains(d.Explain(on.Kinds), "what the ask needs beside it stopped after 640 questions")
		assert.Equal(t, stopped, len(c.needs) == 400, d.Explain(on.Kinds))
	}
}

// first is the keys of so many candidates of a crowd.
func first(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprint("c", i))
	}
	return keys
}

// TestOneOfTwoIsNeeded: if either of two is enough beside the ask, the more important one
// stays. No question about one alone says so.
func TestOneOfTwoIsNeeded(t *testing.T) {
	for _, n := range []int{5, 64, 640} {
		ask, on, _ := crowd(n, nil, nil)
		on.Fits = func(removed []string) error {
			if slices.Contains(removed, "c1") && slices.Contains(removed, "c4") {
				return errors.New("needs c1 or c4")
			}
			return nil
		}
		ask.Amounts = resources.Amounts{int64(n - 1)}
		d := Plan(epoch, DefaultConfig(), ask, on)
		assert.Equal(t, d.Reason, Chosen, "%d candidates: %s", n, d)
		assert.Equal(t, len(d.Victims), n-1)
		assert.Assert(t, !slices.ContainsFunc(d.Victims, func(v Victim) bool { return v.Key == "c4" }))
	}
}
