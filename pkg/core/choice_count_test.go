package core_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Which ask comes next is found among 4,096 applications, or queues, with a look at four dozen entries, and at twenty dozen where the most important ask
// of each fits nowhere: what cannot come before the best one so far is not looked at.
func TestChoosingLooksAtFew(t *testing.T) {
	const many = 4096
	most := map[bool]uint64{false: 48, true: 240}
	for name, c := range map[string]struct {
		properties     api.QueueProperties
		queues, larger bool
	}{
		"applications by age": {}, "applications by use": {properties: api.QueueProperties{ApplicationSort: api.Fair}}, "queues": {queues: true},
		"applications with larger asks": {larger: true}, "queues with larger asks": {queues: true, larger: true},
	} {
		t.Run(name, func(t *testing.T) {
			parent := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "all", Properties: c.properties}}}
			for i := range many {
				if c.queues {
					parent.Queues = append(parent.Queues, api.QueueConfig{Name: fmt.Sprintf("q%04d", i)})
				}
			}
			p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{Name: "default", Root: parent})
			p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{1 << 20}})
			for i := range many {
				id, queue := api.ApplicationID(fmt.Sprint("app-", i)), "root.all"
				if c.queues {
					queue = fmt.Sprintf("root.q%04d", i)
				}
				p.Apply(start, api.AddApplication{ID: id, Queue: api.QueuePath(queue)})
				p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
					Key: api.AllocationKey(id), Application: id, Amounts: resources.Amounts{1}, Created: start, Priority: int32(i * 37 % 5),
				}})
			}
			for i := 0; c.larger && i < many; i++ {
				id := api.ApplicationID(fmt.Sprint("app-", i))
				p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
					Key: api.AllocationKey(id + "-large"), Application: id, Amounts: resources.Amounts{1 << 30}, Created: start, Priority: 9,
				}})
			}
			before := p.View().Work
			for more := true; more; {
				_, more = p.Schedule(start)
			}
			after := p.View().Work
			assert.Equal(t, after.Placements-before.Placements, uint64(many))
			looks := after.Applications + after.Queues - before.Applications - before.Queues
			assert.Assert(t, looks/many <= most[c.larger], "%d looks at each placement", looks/many)
		})
	}
}
