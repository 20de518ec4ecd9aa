package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestHistoriesThatBackOff plays random histories in which applications back off: the books
// agree, nothing of an application is placed while it backs off, and a restored partition
// knows until when that is.
func TestHistoriesThatBackOff(t *testing.T) {
	times := 0
	for seed := range seeds.Of(t, 200) {
		c := rand.New(rand.NewPCG(seed, 1))
		leaf := api.QueueConfig{Name: "q", Properties: api.QueueProperties{BackoffAfter: 1 + c.IntN(3), BackoffDelay: 10 * time.Second}}
		config := api.Config{
			Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{leaf}},
			Preemption: api.PreemptionConfig{Disabled: true}, // what is nominated is bound to a node, and goes on
		}
		options := api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1 + c.IntN(4)}
		p := core.NewPartition(options, config)
		now := time.Unix(0, 0)
		later := map[api.ApplicationID]bool{}
		for step := range 60 {
			app := api.ApplicationID(fmt.Sprint("app-", c.IntN(3)))
			switch c.IntN(8) {
			case 0:
				p.Apply(now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", c.IntN(3))), Capacity: resources.Amounts{int64(2 + c.IntN(4)), 9}})
			case 1:
				p.Apply(now, api.RemoveNode{ID: api.NodeID(fmt.Sprint("n", c.IntN(3)))})
			case 2:
				p.Apply(now, api.RemoveApplication{ID: app})
			case 3:
				now = now.Add(time.Duration(c.IntN(8)) * time.Second)
			default:
				p.Apply(now, api.AddApplication{ID: app, Queue: "root.q"})
				p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
					Key: api.AllocationKey(fmt.Sprint("ask-", step)), Application: app,
					Amounts: resources.Amounts{int64(1 + c.IntN(7)), 1}, Priority: int32(c.IntN(3)), Created: now,
				}})
			}
			clear(later)
			view := p.View()
			for _, a := range view.Applications {
				later[a.ID] = a.BackoffUntil.After(now)
			}
			restored := core.Restore(options, now, view)
			assert.NilError(t, restored.Verify())
			for i, a := range restored.View().Applications {
				assert.Equal(t, a.BackoffUntil.After(now), later[a.ID], "seed %d", seed)
				assert.Equal(t, a.ID, view.Applications[i].ID)
			}
			effects, _ := p.Schedule(now)
			for _, e := range effects {
				if placed, ok := e.(api.Placed); ok {
					assert.Assert(t, !later[placed.Application], "seed %d: %s was placed", seed, placed.Key)
				}
			}
			for _, a := range later {
				if a {
					times++
				}
			}
			assert.NilError(t, p.Verify(), "seed %d", seed)
		}
	}
	assert.Assert(t, times > seeds.Part(t, 1000), "%d", times)
}

// refusingNodes is a partition whose resource manager refuses every ask on every node, and takes
// all asks for alike. It counts what is asked.
func refusingNodes(now time.Time, nodes int, capacity resources.Amounts, asked *int) *core.Partition {
	p := core.NewPartition(api.Options{
		Kinds: testKinds(), ReserveDelay: -1,
		Feasible: func(api.AllocationKey, api.NodeID, bool) error {
			*asked++
			return errTaint
		},
		Constraints: func(api.AllocationKey) string { return "gpu" },
	}, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}}})
	for i := range nodes {
		p.Apply(now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: capacity})
	}
	return p
}

// TestUnschedulableAsksOfManyUsers counts the questions about asks of one class that the resource
// manager refuses everywhere: they cost one evaluation, of however many users and
// applications they are.
func TestUnschedulableAsksOfManyUsers(t *testing.T) {
	const nodes = 10
	for _, users := range []int{1, 100} {
		asked, now := 0, time.Unix(0, 0)
		p := refusingNodes(now, nodes, resources.Amounts{8, 8}, &asked)
		for i := range 10_000 {
			user := fmt.Sprint("user-", i%users)
			id := api.ApplicationID("app-" + user)
			if i < users {
				p.Apply(now, api.AddApplication{ID: id, Queue: "root.q", User: user, Groups: []string{"everyone"}})
			}
			p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint("ask-", i)), Application: id, Amounts: resources.Amounts{1, 1}, Created: now,
			}})
		}
		for range 100 {
			if _, more := p.Schedule(now); !more {
				break
			}
		}
		assert.Equal(t, asked, nodes, "%d users", users)
	}
}

// TestUnschedulablePlaceholders has 10,000 placeholders of one class refused on all nodes: the
// class is asked about once on each node, whether the gang starts one by one or whole.
func TestUnschedulablePlaceholders(t *testing.T) {
	const nodes = 10
	for _, way := range []string{"", api.GangWhole} {
		asked, now := 0, time.Unix(0, 0)
		p := refusingNodes(now, nodes, resources.Amounts{10_000}, &asked)
		p.Apply(now, api.AddApplication{ID: "a", Queue: "root.q", Placeholders: resources.Amounts{10_000}, Tags: map[string]string{api.TagGangStart: way}})
		for i := range 10_000 {
			p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint("ph-", i)), Application: "a", Amounts: resources.Amounts{1}, Created: now,
				Placeholder: true, TaskGroup: "workers",
			}})
		}
		for range 100 {
			if _, more := p.Schedule(now); !more {
				break
			}
		}
		assert.Equal(t, asked, nodes, "gang.start %q", way)
	}
}
