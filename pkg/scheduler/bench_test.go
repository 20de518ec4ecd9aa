package scheduler_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
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
	if len(response.New) == 0 {
		return nil
	}
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
	wave                              int // asks that wait at once; zero is all of them
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
func (l load) start(tb testing.TB, rm api.ResourceManagerCallback) *scheduler.Scheduler {
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
	_, err = s.View(context.Background(), "[rm]default")
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

// run places the pods of a load and reports placements per second, the processor time
// of each, which other work on the machine changes little, and, with all of them placed, the
// heap that each holds.
func (l load) run(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var elapsed, used time.Duration
	var held float64
	for range b.N {
		rm := newCounter()
		s := l.start(b, rm)
		before := heap()
		took, ran := l.place(b, s, rm)
		elapsed, used = elapsed+took, used+ran
		held += float64(heap()-before) / float64(l.pods)
		s.Stop()
	}
	b.ReportMetric(float64(l.pods)*float64(b.N)/elapsed.Seconds(), "placements/s")
	b.ReportMetric(float64(used.Nanoseconds())/float64(l.pods)/float64(b.N), "cpu-ns/placement")
	b.ReportMetric(held/float64(b.N), "heap-B/pod")
	b.ReportMetric(0, "ns/op")
}

// place sends the asks, wave by wave, and returns the time it took to hear of all
// placements, and that of the processor. Making the requests does not count.
func (l load) place(b *testing.B, s *scheduler.Scheduler, rm *counter) (elapsed, used time.Duration) {
	requests := l.requests()
	wave := max(l.wave, 1000) / 1000
	if l.wave == 0 {
		wave = len(requests)
	}
	runtime.GC()
	begin, before := time.Now(), processorTime()
	for goal := 0; len(requests) > 0; requests = requests[wave:] {
		wave = min(wave, len(requests))
		for _, r := range requests[:wave] {
			goal += len(r.Allocations)
		}
		rm.goal.Store(int64(goal))
		for _, r := range requests[:wave] {
			if err := s.UpdateAllocation(r); err != nil {
				b.Fatal(err)
			}
		}
		<-rm.reached
	}
	return time.Since(begin), processorTime() - before
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

// How the time of a placement grows with the size of one thing: asks that wait in
// one application, nodes, queues, applications in a fair queue.
func BenchmarkScale(b *testing.B) {
	series := func(name string, sizes []int, at func(size int) load) {
		b.Run(name, func(b *testing.B) {
			for _, size := range sizes {
				b.Run(fmt.Sprint(size), at(size).run)
			}
		})
	}
	series("asks", []int{1_000, 10_000, 100_000}, func(size int) load {
		return load{nodes: 10_000, pods: 100_000, queues: 1, applications: 1, wave: size}
	})
	series("nodes", []int{1_000, 10_000, 100_000}, func(size int) load {
		return load{nodes: size, pods: 20_000, queues: 1, applications: 1}
	})
	series("queues", []int{1, 10, 100, 1_000}, func(size int) load {
		return load{nodes: 10_000, pods: 20_000, queues: size, applications: 1_000}
	})
	series("applications", []int{1, 10, 100, 1_000, 4_000}, func(size int) load {
		return load{nodes: 10_000, pods: 20_000, queues: 1, applications: size, fair: true}
	})
}

// A relay is a counter that hands on what is placed.
type relay struct {
	*counter
	placements chan *si.Allocation
}

func (r relay) UpdateAllocation(response *si.AllocationResponse) error {
	for _, a := range response.New {
		r.placements <- a
	}
	return r.counter.UpdateAllocation(response)
}

// On a full cluster where 50,000 asks wait that do not fit: how long it takes from
// a release to the callback that places something in its room. What was released
// asks again, so that as many go on waiting.
func BenchmarkFull(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const room, waiting = 60_000, 50_000
	l := load{nodes: 5_000, pods: 50_000, queues: 1, applications: 1}
	rm := relay{newCounter(), make(chan *si.Allocation, room)}
	s := l.start(b, rm)
	defer s.Stop()
	send := func(asks ...*si.Allocation) {
		if err := s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: asks}); err != nil {
			b.Fatal(err)
		}
	}
	// The nodes have room for two pods more than their part.
	l.pods = room + waiting
	for _, r := range l.requests() {
		send(r.Allocations...)
	}
	running := make([]*si.Allocation, 0, room)
	for range room {
		running = append(running, <-rm.placements)
	}
	_, err := s.View(context.Background(), "[rm]default")
	assert.NilError(b, err)
	var elapsed time.Duration
	for i := 0; b.Loop(); i++ {
		oldest := running[i%room]
		begin := time.Now()
		err := s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{{
				ApplicationID: oldest.ApplicationID, AllocationKey: oldest.AllocationKey,
				TerminationType: si.TerminationType_STOPPED_BY_RM,
			}},
		}})
		if err != nil {
			b.Fatal(err)
		}
		running[i%room] = <-rm.placements
		elapsed += time.Since(begin)
		send(&si.Allocation{
			AllocationKey: oldest.AllocationKey, ApplicationID: oldest.ApplicationID,
			ResourcePerAlloc: oldest.ResourcePerAlloc,
		})
	}
	b.ReportMetric(float64(elapsed.Nanoseconds())/1e3/float64(b.N), "µs/reuse")
	b.ReportMetric(0, "ns/op")
}
