package browser

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// How much there is on the large stage.
const (
	largeNodes        = 5000
	largeAllocations  = 100_000
	largeAsks         = 20_500
	largeApplications = 2000
	largeQueues       = 200
	largeEvents       = 20_000
)

// large is a cluster that is as large as the dashboard has to bear.
var large = sync.OnceValues(buildLarge)

// onLarge is the large stage.
func onLarge(t *testing.T) *stage {
	t.Helper()
	s, err := large()
	assert.NilError(t, err)
	return s
}

// buildLarge gives commands to a partition until it is large. What does not fit
// stays pending: each node has room for as many pods as it should have.
func buildLarge() (*stage, error) {
	s := &stage{now: began.Add(time.Hour), kinds: new(resources.Kinds)}
	var capacities [4]resources.Amounts // one of four nodes is larger, since some are drained
	for i := range capacities {
		pods := int64(largeAllocations/largeNodes + max(0, i-2))
		capacities[i], _ = s.kinds.Amounts(map[string]int64{"vcore": pods*1000 + 2500, "memory": (pods + 6) << 30, "pods": 110})
	}
	pod, _ := s.kinds.Amounts(map[string]int64{"vcore": 1000, "memory": 1 << 30, "pods": 1})
	system, _ := s.kinds.Amounts(map[string]int64{"vcore": 2000, "memory": 4 << 30, "pods": 1})
	var err error
	if s.document, err = config.Load(largeConfiguration(), s.kinds); err != nil {
		return nil, err
	}
	p := core.NewPartition(api.Options{Partition: partition, Kinds: s.kinds, ReserveDelay: -1}, s.document.Partitions[0])
	for i := range largeNodes {
		id := api.NodeID(fmt.Sprintf("node-%05d", i))
		zone := string(rune('a' + i%5))
		p.Apply(began, api.AddNode{ID: id, Capacity: capacities[i%4], Attributes: map[string]string{"zone": zone, "pool": fmt.Sprintf("pool-%02d", i%37)}, Drained: i%97 == 96})
		p.Apply(began, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey("agent/" + string(id)), Node: id, Amounts: system, Created: began, Placed: began, Origin: api.Foreign,
		}})
	}
	for i := range largeApplications {
		p.Apply(began, api.AddApplication{ID: largeApplication(i), Queue: api.QueuePath(largeQueue(i)), User: fmt.Sprintf("user-%02d", i%50)})
	}
	for i := range largeAllocations + largeAsks {
		p.Apply(began.Add(time.Duration(i)*time.Millisecond), api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(fmt.Sprintf("pod-%06d", i)), Application: largeApplication(i), Amounts: pod, Priority: int32(i % 7),
			Created: began.Add(time.Duration(i) * time.Millisecond), Tags: map[string]string{"kubernetes.io/meta/namespace": "team"},
		}})
	}
	for more := true; more; {
		_, more = p.Schedule(began.Add(30 * time.Minute))
	}
	if err := p.Verify(); err != nil {
		return nil, err
	}
	s.view.Store(p.View())
	s.metrics = metrics.New()
	s.metrics.Watch(s, s.kinds)
	s.history, err = largeHistory()
	return s, err
}

func largeApplication(i int) api.ApplicationID {
	return api.ApplicationID(fmt.Sprintf("app-%04d", i%largeApplications))
}

func largeQueue(i int) string { return fmt.Sprintf("root.team-%02d.q%03d", i%20, i%largeQueues) }

func largeConfiguration() string {
	text := "partitions: [{name: default, queues: [{name: root, queues: ["
	for team := range 20 {
		text += fmt.Sprintf("{name: team-%02d, parent: true, resources: {guaranteed: {vcore: 4000, memory: 4000Gi}, max: {vcore: 9000, memory: 9000Gi}}, queues: [", team)
		for q := team; q < largeQueues; q += 20 {
			text += fmt.Sprintf("{name: q%03d, resources: {guaranteed: {vcore: %d}}}, ", q, 100+q)
		}
		text += "]}, "
	}
	return text + "]}]}]"
}

// largeHistory has as many events as there were in the last minutes.
func largeHistory() (*events.History, error) {
	h, err := events.NewHistory("large", events.Config{})
	if err != nil {
		return nil, err
	}
	for i := range largeEvents {
		h.Publish([]*si.EventRecord{{
			Type: si.EventRecord_APP, ObjectID: string(largeApplication(i)), ReferenceID: fmt.Sprintf("pod-%06d", i),
			EventChangeType: si.EventRecord_ADD, EventChangeDetail: si.EventRecord_APP_ALLOC,
			TimestampNano: began.Add(30*time.Minute + time.Duration(i)*time.Millisecond).UnixNano(),
		}})
	}
	return h, nil
}

// TestLargeStage: it is as large as it says.
func TestLargeStage(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	v := onLarge(t).view.Load()
	allocations, asks := 0, 0
	for _, app := range v.Applications {
		allocations, asks = allocations+len(app.Allocations), asks+len(app.Asks)
	}
	assert.Equal(t, len(v.Nodes), largeNodes)
	assert.Assert(t, allocations >= largeAllocations, "%d", allocations)
	assert.Assert(t, asks >= 20_000, "%d", asks)
}
