package scheduler_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A counter is a resource manager that counts what it hears.
type counter struct {
	nodes, applications, placed atomic.Int64
	goal                        atomic.Int64 // of placed
	reached                     chan struct{}
}

func newCounter() *counter { return &counter{reached: make(chan struct{}, 1)} }

func (c *counter) UpdateAllocation(response *si.AllocationResponse) error {
	if n := c.placed.Add(int64(len(response.New))); n == c.goal.Load() {
		c.reached <- struct{}{}
	}
	return nil
}

func (c *counter) UpdateApplication(response *si.ApplicationResponse) error {
	c.applications.Add(int64(len(response.Accepted)))
	return nil
}

func (c *counter) UpdateNode(response *si.NodeResponse) error {
	c.nodes.Add(int64(len(response.Accepted)))
	return nil
}

func (c *counter) Predicates(*si.PredicatesArgs) error { return nil }

func (c *counter) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}

func (c *counter) SendEvent([]*si.EventRecord) {}

func (c *counter) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

// A load is a cluster and the work that is put on it.
type load struct {
	nodes, pods, queues, applications int
	fair                              bool // applications share their queue
	batch                             int  // allocations per response
	predicates                        bool
}

func (l load) String() string {
	return fmt.Sprintf("nodes=%d/pods=%d/queues=%d/apps=%d", l.nodes, l.pods, l.queues, l.applications)
}

// config is the configuration of a load: all queues below root.
func (l load) config() string {
	if l.queues == 1 && !l.fair {
		return ""
	}
	var b strings.Builder
	b.WriteString("partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n")
	for i := range l.queues {
		fmt.Fprintf(&b, "    - name: %s\n", l.queue(i))
		if l.fair {
			b.WriteString("      properties:\n        application.sort.policy: fair\n")
		}
	}
	return b.String()
}

func (l load) queue(i int) string {
	if l.queues == 1 {
		return "default"
	}
	return fmt.Sprintf("q%04d", i%l.queues)
}

// start registers a resource manager with all nodes and applications of a load,
// and returns when everything is accepted.
func (l load) start(tb testing.TB, rm *counter) *scheduler.Scheduler {
	tb.Helper()
	s, err := scheduler.New(scheduler.Config{BatchAllocations: l.batch, SkipPredicates: !l.predicates})
	assert.NilError(tb, err)
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: l.config()}, rm)
	assert.NilError(tb, err)
	// Each node takes a little more than its part of the pods.
	perNode := int64((l.pods+l.nodes-1)/l.nodes) + 2
	capacity := resource(perNode*1000, perNode<<30)
	nodes := make([]*si.NodeInfo, l.nodes)
	for i := range nodes {
		nodes[i] = &si.NodeInfo{NodeID: fmt.Sprintf("node-%06d", i), Action: si.NodeInfo_CREATE, SchedulableResource: capacity}
	}
	assert.NilError(tb, s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: nodes}))
	applications := make([]*si.AddApplicationRequest, l.applications)
	for i := range applications {
		applications[i] = &si.AddApplicationRequest{
			ApplicationID: application(i), QueueName: "root." + l.queue(i),
			Ugi: &si.UserGroupInformation{User: "user"},
		}
	}
	assert.NilError(tb, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: applications}))
	_, err = s.View("[rm]default")
	assert.NilError(tb, err)
	return s
}

// requests are the asks of a load, a thousand to a request.
func (l load) requests() []*si.AllocationRequest {
	amounts := resource(1000, 1<<30)
	var requests []*si.AllocationRequest
	for i := 0; i < l.pods; i += 1000 {
		asks := make([]*si.Allocation, min(1000, l.pods-i))
		for j := range asks {
			asks[j] = &si.Allocation{
				AllocationKey: fmt.Sprintf("pod-%08d", i+j), ApplicationID: application((i + j) % l.applications),
				ResourcePerAlloc: amounts,
			}
		}
		requests = append(requests, &si.AllocationRequest{RmID: "rm", Allocations: asks})
	}
	return requests
}

func application(i int) string { return fmt.Sprintf("app-%05d", i) }

func resource(vcore, memory int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: vcore}, "memory": {Value: memory}}}
}

// run places the pods of a load and reports placements per second and, with all
// of them placed, the heap that each holds.
func (l load) run(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var spent time.Duration
	var held float64
	for range b.N {
		b.StopTimer()
		rm := newCounter()
		rm.goal.Store(int64(l.pods))
		s := l.start(b, rm)
		before := heap()
		requests := l.requests()
		runtime.GC()
		b.StartTimer()
		begin := time.Now()
		for _, r := range requests {
			if err := s.UpdateAllocation(r); err != nil {
				b.Fatal(err)
			}
		}
		<-rm.reached
		spent += time.Since(begin)
		b.StopTimer()
		requests = nil
		held += float64(heap()-before) / float64(l.pods)
		s.Stop()
	}
	b.ReportMetric(float64(l.pods)*float64(b.N)/spent.Seconds(), "placements/s")
	b.ReportMetric(held/float64(b.N), "heap-B/pod")
	b.ReportMetric(0, "ns/op")
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// What the scheduler is measured by, on one core: two applications on a cluster
// of 5,000 nodes, and a thousand queues on one of 100,000.
func BenchmarkPlace(b *testing.B) {
	small := load{nodes: 5_000, pods: 50_000, queues: 1, applications: 2}
	b.Run(small.String(), small.run)
	batched := small
	batched.batch = 256
	b.Run(small.String()+"/batched", batched.run)
	asked := small
	asked.predicates = true
	b.Run(small.String()+"/predicates", asked.run)
	large := load{nodes: 100_000, pods: 1_000_000, queues: 1_000, applications: 1_000}
	b.Run(large.String(), func(b *testing.B) {
		if testing.Short() {
			b.Skip("takes seconds and gigabytes")
		}
		large.run(b)
	})
}

// How the time of a placement grows with the size of one thing.
func BenchmarkScale(b *testing.B) {
	for _, pods := range []int{1_000, 10_000, 100_000} {
		b.Run("asks", func(b *testing.B) {
			l := load{nodes: 10_000, pods: pods, queues: 1, applications: 1}
			b.Run(fmt.Sprint(pods), l.run)
		})
	}
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		b.Run("nodes", func(b *testing.B) {
			l := load{nodes: nodes, pods: 20_000, queues: 1, applications: 1}
			b.Run(fmt.Sprint(nodes), l.run)
		})
	}
	for _, queues := range []int{1, 10, 100, 1_000} {
		b.Run("queues", func(b *testing.B) {
			l := load{nodes: 10_000, pods: 20_000, queues: queues, applications: 1_000}
			b.Run(fmt.Sprint(queues), l.run)
		})
	}
	for _, applications := range []int{1, 10, 100, 1_000, 4_000} {
		b.Run("applications", func(b *testing.B) {
			l := load{nodes: 10_000, pods: 20_000, queues: 1, applications: applications, fair: true}
			b.Run(fmt.Sprint(applications), l.run)
		})
	}
}
