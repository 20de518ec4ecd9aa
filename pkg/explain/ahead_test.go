package explain_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
)

// line is a full node, for which so many equal asks wait, and an ask after them.
func line(t *testing.T, ahead int) *cluster {
	t.Helper()
	c := newCluster(t, twoQueues(), api.Options{ReserveDelay: -1})
	c.node("full", 4000, 1<<30)
	c.ask("batch", "runs", 4000, 1, on("full"))
	for i := range ahead {
		c.ask("batch", fmt.Sprintf("ahead-%03d", i), 1000, 1)
	}
	c.ask("batch", "last", 1000, 1)
	c.settle(start)
	return c
}

// TestRemediesBehindOthers: room for up to ten asks that come before one is offered, and for more what makes it come first.
func TestRemediesBehindOthers(t *testing.T) {
	for ahead, want := range map[int]string{
		0:   "it runs if vcore=1000 more becomes free on full",
		1:   "it runs if vcore=2000 more becomes free on full; that is room for 1 ask before it, too",
		10:  "it runs if vcore=11000 more becomes free on full; that is room for 10 asks before it, too",
		11:  "it runs if its priority is 1, for which runs is evicted; it would still wait if vcore=1000 more becomes free on full: 11 asks are ahead of it, and ahead-000 gets that",
		100: "it runs if its priority is 1, for which runs is evicted; it would still wait if vcore=1000 more becomes free on full: 100 asks are ahead of it, and ahead-000 gets that",
	} {
		c := line(t, ahead)
		a, err := explain.Ask(c.View(), c.kinds, "batch", "last")
		assert.NilError(t, err)
		a.Try(t.Context(), explain.Trial{Now: start, Free: true})
		assert.Equal(t, a.Remedies.Sentence(), want, "%d ahead", ahead)
	}
}

// TestRoomBeforeIsCounted: what is in line before an ask and gets nothing of the room that a remedy makes does not count, such as
// an ask of another queue that no node can hold; and of a queue that uses less than it lacks only the max can be raised.
func TestRoomBeforeIsCounted(t *testing.T) {
	c := newCluster(t, twoQueues(), api.Options{ReserveDelay: -1})
	c.node("n", 40_000, 1<<30)
	c.ask("web", "runs", 8000, 1, on("n"))
	c.ask("batch", "huge", 100_000, 1, priority(9))
	for i := range 3 {
		c.ask("web", fmt.Sprintf("web-%d", i), 3000, 1)
	}
	c.settle(start)
	a, err := explain.Ask(c.View(), c.kinds, "web", "web-2")
	assert.NilError(t, err)
	a.Try(t.Context(), explain.Trial{Now: start, Free: true})
	assert.Equal(t, a.Remedies.Sentence(), "it runs if queue root.web uses vcore=8000 less, or its max is raised by that; that is room for 2 asks before it, too")
	c.ask("web", "large", 20_000, 1, priority(8))
	a, err = explain.Ask(c.View(), c.kinds, "web", "large")
	assert.NilError(t, err)
	a.Try(t.Context(), explain.Trial{Now: start, Free: true})
	assert.Equal(t, a.Remedies.Sentence(), "it runs if the max of queue root.web is raised by vcore=19000")
}

// TestFewQuestionsAboutOthers: of ten times as many asks as that, about others no more is asked than 500 times.
func TestFewQuestionsAboutOthers(t *testing.T) {
	c := line(t, 5000)
	of := map[bool]int{}
	a, err := explain.Ask(c.View(), c.kinds, "batch", "last")
	assert.NilError(t, err)
	a.Try(t.Context(), explain.Trial{Now: start, MayRun: func(key api.AllocationKey, _ api.NodeID) (bool, error) {
		of[key == "last"]++
		return true, fmt.Errorf("%s is refused", key)
	}})
	assert.Assert(t, of[false] <= 500, "%v", of)
	assert.Assert(t, of[true] <= 50, "%v", of)
}
