package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// tag has an allocation say now and then that it is terminating, or where it was
// nominated.
func (h *history) tag(a *core.Allocation) {
	if h.tags == nil {
		return
	}
	a.Tags = map[string]string{}
	switch h.tags.IntN(4) {
	case 0:
		a.Tags[core.TagTerminating] = "true"
	case 1:
		a.Tags[core.TagTerminating] = fmt.Sprint(h.now.Unix() - int64(h.tags.IntN(5)))
	}
	if h.tags.IntN(2) == 0 {
		a.Tags[core.TagNominatedNode] = fmt.Sprint("n", h.tags.IntN(5))
	}
}

// TestRandomHistoriesOfRestarts keeps the laws whatever the tags say, and whatever comes
// first: the node, what is leaving there, or the ask.
func TestRandomHistoriesOfRestarts(t *testing.T) {
	nominated, evictions := map[preemptor.Reason]int{}, map[bool]int{}
	for seed := range uint64(500) {
		h := newHistory(rand.New(rand.NewPCG(seed, 12)))
		h.tags = rand.New(rand.NewPCG(seed, 13))
		for i := range 160 {
			done := h.step()
			assert.NilError(t, h.broken, "seed %d, step %d", seed, i)
			assert.NilError(t, h.p.Verify(), "seed %d, step %d: %T%+v", seed, i, done, done)
			assert.NilError(t, h.p.VerifyAttempts(), "seed %d, step %d: %T%+v", seed, i, done, done)
			fx, _ := done.(core.Effects)
			for _, e := range fx {
				if n, is := e.(*core.Nominated); is {
					nominated[n.Plan.Reason]++
				}
			}
		}
		for _, n := range h.p.View().Nodes {
			for _, e := range n.Evictions {
				evictions[e.Reported]++
			}
		}
		h.settle(t)
	}
	t.Log(nominated, evictions)
	assert.Assert(t, nominated[preemptor.RoomIsThere] > 100 && nominated[preemptor.WaitsForReleasing] > 20 && nominated[preemptor.Chosen] > 100)
	assert.Assert(t, evictions[true] > 100 && evictions[false] > 10)
}
