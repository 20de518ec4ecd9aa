package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestAttemptsOfManyApplicationsKeepTheirPlace: of two asks for which room may be made at the
// same time, the more important one is first, however many applications have such asks. Both
// wait beside more important ones that are too large, so the order of the queues says
// nothing. From 65 applications on, a class is listed with its leaf; here it is ten times as
// many.
func TestAttemptsOfManyApplicationsKeepTheirPlace(t *testing.T) {
	for _, applications := range []int{1, 64, 65, 640} {
		p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{
			Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
				{Name: "first"}, {Name: "many"}, {Name: "other", Guaranteed: []int64{1}},
			}},
		})
		now := start
		add := func(app, key string, cores int64, priority int32, node api.NodeID) {
			a := ask(api.ApplicationID(app), key, cores)
			a.Allocation.Priority, a.Allocation.Node, a.Allocation.Created = priority, node, now
			p.Apply(now, a)
		}
		p.Apply(now, api.AddNode{ID: "n", Capacity: []int64{4000}})
		p.Apply(now, api.AddNode{ID: "small", Capacity: []int64{1}})
		p.Apply(now, api.AddApplication{ID: "a", Queue: "root.first"})
		add("a", "holds", 4000, 100, "n")
		add("a", "too large", 9000, 20, "")
		for i := range applications {
			app := fmt.Sprintf("m%03d", i)
			p.Apply(now, api.AddApplication{ID: api.ApplicationID(app), Queue: "root.many"})
			add(app, "x"+app, 4000, 10, "")
		}
		add("m000", "large too", 9000, 18, "")
		now = untilQuiet(t, p, now, time.Minute).Add(time.Minute)

		// Attempts are repeated a second after the last time at the earliest.
		p.Apply(now, api.UpdateNode{ID: "small", Capacity: []int64{2}})
		p.Schedule(now)
		p.Apply(now, api.ReleaseAllocation{Application: "a", Key: "holds"})
		add("a", "victim", 4000, 0, "n")
		for _, more := p.Schedule(now); more; _, more = p.Schedule(now) {
		}
		assert.Equal(t, p.View().Preempted.Victims.Total(), uint64(0))
		now = now.Add(time.Second)
		add("a", "less", 4000, 5, "")
		fx, _ := p.Schedule(now)
		assert.NilError(t, p.Verify())
		first := ""
		for _, e := range fx {
			if n, ok := e.(*api.Claimed); ok && n.Plan != nil && first == "" {
				first = string(n.Key)
			}
		}
		assert.Equal(t, first, "xm000", "%d applications", applications)
	}
}
