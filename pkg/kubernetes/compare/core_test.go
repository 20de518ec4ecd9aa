//go:build compare

package compare

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// byCore has the core place the jobs of a world, and says where each pod runs and how long it took.
func byCore(t *testing.T, w world) (on map[string]string, took time.Duration) {
	kinds := new(resources.Kinds)
	_, err := kinds.Intern(resources.VCore)
	assert.NilError(t, err)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := core.NewPartition(api.Options{Kinds: kinds, ReserveDelay: -1}, api.Config{
		Name: "default", Levels: [][]string{{"rack"}}, Nodes: api.NodeOrder{Packing: true},
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}},
	})
	p.Apply(start, api.AddApplication{ID: "jobs"})
	for rack, nodes := range w.racks {
		for node := range nodes {
			name := nodeName(rack, node)
			p.Apply(start, api.AddNode{ID: api.NodeID(name), Capacity: resources.Amounts{slots}, Attributes: map[string]string{"rack": rackName(rack)}})
			if busy := w.busy[name]; busy > 0 {
				p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
					Key: api.AllocationKey("busy-" + name), Application: "jobs", Node: api.NodeID(name), Amounts: resources.Amounts{int64(busy)}, Created: start,
				}})
			}
		}
	}
	for i, j := range w.jobs {
		for pod := range j.pods {
			ask := &api.Allocation{
				Key: api.AllocationKey(podName(j, pod)), Application: "jobs", Amounts: resources.Amounts{int64(j.slots)}, Created: start.Add(time.Duration(i)),
			}
			if !j.plain {
				ask.Tags = map[string]string{api.TagQuorum: j.name, api.TagQuorumLeast: fmt.Sprint(j.pods)}
			}
			if j.rack {
				ask.Tags[api.TagQuorumRequire] = "rack"
			}
			p.Apply(start, api.AddAllocation{Allocation: ask})
		}
	}
	on, begin := map[string]string{}, time.Now()
	for more := true; more; {
		var events api.Effects
		events, more = p.Schedule(start)
		for _, e := range events {
			if e, is := e.(api.Placed); is && len(e.Key) > 0 && e.Key[0] == 'j' {
				on[string(e.Key)] = string(e.Node)
			}
		}
	}
	return on, time.Since(begin)
}

func podName(j job, pod int) string { return fmt.Sprintf("%s-%02d", j.name, pod) }
