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

// patience is how long in virtual time nothing happens until the core is done.
const patience = 2 * time.Minute

// byCore has the core place the jobs of a world. A victim has ended a second later.
func byCore(t *testing.T, w world) (o outcome) {
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
		}
	}
	for _, j := range w.runs {
		for pod, node := range j.on {
			runs := askOf(j, pod, start)
			runs.Node = api.NodeID(node)
			p.Apply(start, api.AddAllocation{Allocation: runs})
		}
	}
	for i, j := range w.jobs {
		for pod := range j.pods {
			p.Apply(start, api.AddAllocation{Allocation: askOf(j, pod, start.Add(time.Duration(i)))})
		}
	}
	o = newOutcome()
	var ended []*api.Allocation
	begin := time.Now()
	for now, last := start, start; now.Sub(last) <= patience && len(o.on) < w.asked(); now = now.Add(time.Second) {
		for _, a := range ended {
			p.Apply(now, api.ReleaseAllocation{Application: a.Application, Key: a.Key})
		}
		ended = nil
		for more := true; more; {
			var events api.Effects
			events, more = p.Schedule(now)
			for _, e := range events {
				switch e := e.(type) {
				case api.Placed:
					o.on[string(e.Key)], o.took, last = string(e.Node), time.Since(begin), now
				case *api.EvictionRequested:
					o.victims[string(e.Key)], last = true, now
					ended = append(ended, e.Allocation)
				}
			}
		}
	}
	return o
}

func askOf(j job, pod int, created time.Time) *api.Allocation {
	a := &api.Allocation{
		Key: api.AllocationKey(podName(j, pod)), Application: "jobs", Amounts: resources.Amounts{int64(j.slotsOf(pod))}, Priority: int32(j.priority), Created: created,
		Preemptable: api.Preemptable{Stated: true, AllowSelf: true, AllowOthers: true}, Tags: map[string]string{},
	}
	if !j.plain {
		a.Tags[api.TagQuorum], a.Tags[api.TagQuorumLeast] = j.name, fmt.Sprint(j.pods)
	}
	if j.rack {
		a.Tags[api.TagQuorumRequire] = "rack"
	}
	if j.all {
		a.Tags[api.TagQuorumUnit] = api.UnitAll
	}
	return a
}

func podName(j job, pod int) string { return fmt.Sprintf("%s-%02d", j.name, pod) }
