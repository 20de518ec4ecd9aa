package core_test

import (
	"fmt"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// namespaces is a partition in which each namespace has a queue of its own.
func namespaces() *core.Partition {
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Parent: true},
		Rules: []placement.Rule{{Kind: placement.Tag, Value: "namespace", Create: true}},
	})
	for i := range 100 {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{1 << 30, 1 << 40, 1 << 20}})
	}
	return p
}

// come has an application come to a namespace, with a quota, and one ask of it placed.
func come(p *core.Partition, id, namespace string, quota int64) int {
	p.Apply(start, api.AddApplication{
		ID: api.ApplicationID(id), Tags: map[string]string{"namespace": namespace},
		Quota: &api.QueueQuota{Max: resources.Limits{quota}},
	})
	p.Apply(start, ask(api.ApplicationID(id), "ask-"+id, 1, 1))
	fx, _ := p.Schedule(start)
	return placements(fx)
}

// made is how many bytes of memory were made so far: what is copied or sorted for every queue
// shows in it, which no other count knows.
func made() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestNamespacesComeAndGo has 10,000 applications come to and go from 1,000 namespaces, of
// which as many again are in use. What one costs does not grow with the number of namespaces,
// and nothing is left.
func TestNamespacesComeAndGo(t *testing.T) {
	costs := map[int]uint64{}
	for _, busy := range []int{100, 1000} {
		p := namespaces()
		for i := range busy {
			assert.Equal(t, come(p, fmt.Sprint("busy", i), fmt.Sprint("busy", i), 10), 1)
		}
		applications := busy * busy / 100
		before := made()
		for i := range applications {
			id := fmt.Sprint("app", i)
			assert.Equal(t, come(p, id, fmt.Sprint("namespace", i%1000), 10), 1)
			p.Apply(start, api.RemoveApplication{ID: api.ApplicationID(id)})
		}
		costs[busy] = (made() - before) / uint64(applications)
		for i := range busy {
			p.Apply(start, api.RemoveApplication{ID: api.ApplicationID(fmt.Sprint("busy", i))})
		}
		assert.Equal(t, len(p.View().Root.Queues), 0)
		assert.NilError(t, p.Verify())
	}
	t.Logf("bytes made for an application, by namespaces: %v", costs)
	assert.Assert(t, costs[1000] <= 2*costs[100])
}

// TestQuotaOfANamespaceChanges has each application of a namespace bring another quota, which
// costs what is in that namespace and not what is in the others.
func TestQuotaOfANamespaceChanges(t *testing.T) {
	costs := map[int]uint64{}
	for _, busy := range []int{400, 4000} {
		p := namespaces()
		for i := range busy {
			assert.Equal(t, come(p, fmt.Sprint("busy", i), fmt.Sprint("busy", i), 10), 1)
		}
		come(p, "first", "one", 10)
		before := made()
		const applications = 200
		for i := range applications {
			id := fmt.Sprint("app", i)
			assert.Equal(t, come(p, id, "one", int64(10+i%2)), 1)
			p.Apply(start, api.RemoveApplication{ID: api.ApplicationID(id)})
		}
		costs[busy] = (made() - before) / applications
		assert.NilError(t, p.Verify())
	}
	t.Logf("bytes made for a change, by namespaces: %v", costs)
	assert.Assert(t, costs[4000] <= 2*costs[400])
}
