package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// hinted counts the asks of which a partition tells in a second that only more nodes can help them.
func hinted(t *testing.T, p *core.Partition, now *time.Time) (count int) {
	t.Helper()
	until := now.Add(time.Second)
	for {
		for more := true; more; {
			var fx api.Effects
			fx, more = p.Schedule(*now)
			for _, e := range fx {
				if _, is := e.(*api.Unschedulable); is {
					count++
				}
			}
			assert.NilError(t, p.Verify())
		}
		due, ok := p.Due()
		if !ok || due.After(until) {
			*now = until
			return count
		}
		*now = due
	}
}

// TestHintsOfAll: the resource manager is told of each ask that only more nodes can help, a second later: of those
// that have no room, and of those that it refuses everywhere; of those that come after the others too, and only of
// so many as quotas let run.
func TestHintsOfAll(t *testing.T) {
	for name, c := range map[string]struct{ amount, capacity int64 }{"no room": {10, 9}, "refused": {10, 1000}} {
		t.Run(name, func(t *testing.T) {
			options := api.Options{
				Kinds: testKinds(), Constraints: func(key api.AllocationKey) string { return string(key[:1]) },
				Feasible: func(api.AllocationKey, api.NodeID, bool) error { return errors.New("no") },
			}
			limit := func(most int64) api.Config {
				return api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
					{Name: "q"}, {Name: "limited", Max: resources.Limits{most}},
				}}}
			}
			p, now := core.NewPartition(options, limit(10*c.amount)), start
			p.Apply(now, api.AddApplication{ID: "a", Queue: "root.q"})
			p.Apply(now, api.AddApplication{ID: "b", Queue: "root.limited"})
			p.Apply(now, api.AddNode{ID: "n", Capacity: resources.Amounts{c.capacity}})
			for i := range 20 {
				p.Apply(now, ask("a", fmt.Sprint("s-", i), c.amount))
			}
			assert.Equal(t, hinted(t, p, &now), 20)
			p.Apply(now, ask("a", "s-late", c.amount))
			assert.Equal(t, hinted(t, p, &now), 1)
			for i := range 20 {
				p.Apply(now, ask("b", fmt.Sprint("t-", i), c.amount))
			}
			assert.Equal(t, hinted(t, p, &now), 10)
			p.Apply(now, api.Reconfigure{Config: limit(12 * c.amount)})
			assert.Equal(t, hinted(t, p, &now), 2)
			p.Apply(now, api.ReleaseAllocation{Application: "b", Key: "t-0"})
			assert.Equal(t, hinted(t, p, &now), 1)
		})
	}
}
