package core_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Two users wait in eight queues for what a limit over all of them allows, with asks in several classes. Nodes come, so that the shares of all queues
// change, and pods end, so that users may have more. Whatever is listed for a user, and whatever stands in an order, does so in the same
// order each time: the last view is the same, with what was looked at for it. Lists that are made from maps show in it.
func TestALimitOverManyQueuesRepeats(t *testing.T) {
	play := func() string {
		limit := func(most int64) api.Reconfigure {
			root := api.QueueConfig{Name: "root", Parent: true, Limits: []api.Limit{{Users: []string{"*"}, Max: resources.Limits{most}}}}
			for i := range 8 {
				root.Queues = append(root.Queues, api.QueueConfig{Name: fmt.Sprint("q", i), Guaranteed: resources.Amounts{1000}})
			}
			return api.Reconfigure{Config: api.Config{Name: "default", Root: root}}
		}
		p, now := cluster(0, 0, api.Options{}), start
		p.Apply(now, limit(500))
		for i := range 16 {
			app := api.ApplicationID(fmt.Sprint("app-", i))
			p.Apply(now, api.AddApplication{ID: app, Queue: api.QueuePath(fmt.Sprint("root.q", i%8)), User: []string{"ann", "bob"}[i/8]})
			for k := range 40 {
				asks := ask(app, fmt.Sprint("pod-", i, "-", k), int64(100+k%4), 1)
				asks.Allocation.Priority = int32(k % 3)
				p.Apply(now, asks)
			}
		}
		for round := range 30 {
			p.Apply(now, api.AddNode{ID: api.NodeID(fmt.Sprint("n-", round)), Capacity: resources.Amounts{10_000, 1000}})
			if round == 6 {
				p.Apply(now, limit(600))
			}
			p.Schedule(now)
			for _, app := range p.View().Applications {
				if len(app.Allocations) > 0 && app.User == []string{"ann", "bob"}[round%2] {
					p.Apply(now, api.ReleaseAllocation{Application: app.ID, Key: app.Allocations[0].Key})
					break
				}
			}
			p.Schedule(now)
			now = now.Add(time.Second)
		}
		view, err := json.Marshal(p.View())
		assert.NilError(t, err)
		return string(view)
	}
	first := play()
	for range 10 {
		assert.Equal(t, play(), first)
	}
}
