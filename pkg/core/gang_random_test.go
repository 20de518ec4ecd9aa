package core_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// gang is a random application with placeholders.
func (h *history) gang() core.Command {
	c := core.AddApplication{
		ID: h.app(), Queue: []core.QueuePath{"root.a", "root.p.b", "p.c"}[h.IntN(3)], Placeholders: resources.Amounts{int64(h.IntN(6))},
		Style: core.GangStyle(h.IntN(2)), GangTimeout: time.Duration(1+h.IntN(20)) * time.Second, Forced: true,
	}
	if h.IntN(2) == 0 {
		c.Tags = map[string]string{core.TagGangStart: core.GangWhole}
	}
	if h.placing != nil {
		tags := c.Tags
		h.placing.application(&c)
		if c.Tags == nil {
			c.Tags = tags
		} else {
			maps.Copy(c.Tags, tags)
		}
	}
	return c
}

// TestRandomGangs keeps the laws while gangs start, are replaced and time out, and restores
// each partition from its view.
func TestRandomGangs(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(400) {
		h := newHistory(rand.New(rand.NewPCG(seed, 77)))
		h.gangs = true
		for i := range 4 {
			h.p.Apply(h.now, core.RemoveApplication{ID: core.ApplicationID(fmt.Sprint("app", i))})
			h.p.Apply(h.now, h.gang())
		}
		told := map[core.AllocationKey]si.TerminationType{}
		for i := range 160 {
			done := h.step()
			if fx, is := done.(core.Effects); is {
				for _, e := range fx {
					met[fmt.Sprintf("%T", e)]++
					if e, is := e.(*core.ReleaseRequested); is && e.Cause == core.CauseReplaced {
						told[e.Key] = si.TerminationType_PLACEHOLDER_REPLACED
					}
				}
			}
			assert.NilError(t, h.broken, "seed %d, step %d: %T%+v", seed, i, done, done)
			assert.NilError(t, h.p.Verify(), "seed %d, step %d: %T%+v", seed, i, done, done)
			if h.IntN(3) == 0 {
				h.confirmGang(told, met)
				assert.NilError(t, h.p.Verify(), "seed %d, step %d: confirmed", seed, i)
			}
			if i%20 == 0 {
				again := core.Restore(core.Options{Kinds: testKinds(), CompletingDelay: 3 * time.Second}, h.now, h.p.View())
				assert.NilError(t, again.Verify(), "seed %d, step %d: restored", seed, i)
				for n, app := range h.p.View().Applications {
					assert.DeepEqual(t, again.View().Applications[n].Gang, app.Gang)
				}
			}
		}
		h.settle(t)
	}
	t.Logf("%v", met)
	assert.Assert(t, met["*core.ReleaseRequested"] > 200 && met["runs"] > 30)
}

// confirmGang says that the placeholders have ended whose place an ask takes.
func (h *history) confirmGang(told map[core.AllocationKey]si.TerminationType, met map[string]int) {
	for _, app := range h.p.View().Applications {
		if app.Gang == nil {
			continue
		}
		for _, with := range app.Gang.Replacements {
			met["replacements"]++
			if with.Node != "" {
				met["elsewhere"]++
			}
			fx := h.p.Apply(h.now, core.ReleaseAllocation{Application: app.ID, Key: with.Placeholder, Termination: told[with.Placeholder]})
			for _, e := range fx {
				if e, is := e.(core.Placed); is && e.Key == with.Ask {
					met["runs"]++
				}
			}
		}
	}
}
