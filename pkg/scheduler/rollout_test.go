package scheduler_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A rollout is a full cluster that gets one ask for each node, all at once, from
// an agent of 2 cores and 4 GiB with priority 10.
type rollout struct {
	nodes      int
	strategies string
}

const (
	agentVcore, agentMemory = 2000, 4 << 30
	agentPriority           = 10
)

// A tenant is one of the pods of a node.
type tenant struct {
	vcore, memory int64 // thousandths of a core, GiB
	priority      int32
	is            string // empty, owner, foreign, opted out, static or required
}

// layouts are how the nodes are filled: ten pods each, and nothing is free. Each
// is another problem for the choice of victims.
var layouts = [][]tenant{
	// One regular pod of the right size.
	{{2000, 4, 0, ""}, {1000, 2, 0, ""}, {500, 1, 0, ""}, {4000, 8, 0, ""}, {3000, 6, 0, ""}, {2000, 4, 5, ""}, {1000, 1, 5, ""}, {500, 4, 0, "owner"}, {1000, 2, 0, "foreign"}, {1000, 2, 0, "static"}},
	// Two of middle size, of the lowest priority only.
	{{1000, 2, 0, ""}, {1000, 2, 0, ""}, {500, 1, 0, ""}, {500, 1, 0, ""}, {2000, 4, 5, ""}, {2000, 4, 10, ""}, {8000, 16, 11, ""}, {1000, 2, 0, "opted out"}, {500, 1, 0, "foreign"}, {500, 1, 0, "required"}},
	// Cores and memory are held by different pods.
	{{1500, 1, 0, ""}, {500, 3, 0, ""}, {1500, 1, 0, ""}, {250, 2, 0, ""}, {250, 2, 0, ""}, {4000, 1, 8, ""}, {100, 16, 8, ""}, {2000, 4, 0, "owner"}, {2000, 4, 0, "opted out"}, {2000, 4, 0, "static"}},
	// Regular pods are not enough: a driver is evicted, and which pod beside it.
	{{500, 1, 0, ""}, {500, 1, 0, ""}, {250, 1, 0, ""}, {8000, 16, 20, ""}, {1500, 3, 0, "owner"}, {1000, 3, 0, "owner"}, {4000, 8, 0, "foreign"}, {4000, 8, 0, "opted out"}, {1000, 2, 0, "required"}, {500, 2, 0, "static"}},
	// Only foreign pods and those that opted out.
	{{4000, 8, 11, ""}, {4000, 8, 12, ""}, {1000, 2, 0, "foreign"}, {1000, 1, 0, "foreign"}, {500, 1, 0, "foreign"}, {2000, 4, 0, "opted out"}, {1000, 2, 0, "static"}, {500, 1, 0, "required"}, {500, 1, 11, "owner"}, {250, 1, 0, "opted out"}},
	// Many small ones.
	{{300, 1, 0, ""}, {300, 1, 0, ""}, {300, 1, 1, ""}, {400, 1, 1, ""}, {500, 1, 1, ""}, {500, 1, 2, ""}, {600, 1, 2, ""}, {600, 2, 3, ""}, {700, 2, 3, ""}, {800, 2, 3, "owner"}},
}

// harm orders sets of victims: the worst class, the highest priority, how many,
// and the thousandths of the node that they hold.
type harm struct {
	class    int
	priority int32
	victims  int
	weight   int64
}

func (h harm) compare(other harm) int {
	return cmp.Or(cmp.Compare(h.class, other.class), cmp.Compare(h.priority, other.priority),
		cmp.Compare(h.victims, other.victims), cmp.Compare(h.weight, other.weight))
}

// fewer counts victims and nothing else.
func (h harm) fewer(other harm) int { return cmp.Compare(h.victims, other.victims) }

// least tries every set of pods of a node that are allowed to go.
func least(on []tenant, compare func(a, b harm) int) harm {
	classes := map[string]int{"": 1, "owner": 2, "foreign": 3, "opted out": 4}
	var vcores, memory int64
	for _, t := range on {
		vcores, memory = vcores+t.vcore, memory+t.memory
	}
	part := func(v, whole int64) int64 { return (v*1000 + whole - 1) / whole }
	best := harm{class: len(classes) + 1, victims: len(on)}
	for set := range uint(1) << len(on) {
		var freedVcore, freedMemory int64
		h, allowed := harm{victims: bits.OnesCount(set), priority: math.MinInt32}, true
		for i, t := range on {
			if set&(1<<i) == 0 {
				continue
			}
			freedVcore, freedMemory = freedVcore+t.vcore, freedMemory+t.memory
			allowed = allowed && classes[t.is] > 0 && t.priority <= agentPriority
			h.class, h.priority = max(h.class, classes[t.is]), max(h.priority, t.priority)
			h.weight += part(t.vcore, vcores) + part(t.memory, memory)
		}
		if allowed && freedVcore >= agentVcore && freedMemory<<30 >= agentMemory && compare(h, best) < 0 {
			best = h
		}
	}
	return best
}

// optimum is how many victims the roll-out takes, node by node, when they are
// compared like this.
func (r rollout) optimum(compare func(a, b harm) int) (victims int) {
	best := make([]int, len(layouts))
	for i, on := range layouts {
		best[i] = least(on, compare).victims
	}
	for i := range r.nodes {
		victims += best[i%len(layouts)]
	}
	return victims
}

func (r rollout) config() string {
	return fmt.Sprintf(`partitions:
- name: default
  preemption:
    preemption_start_delay: 0s
    preemption_victim_pods_selection_strategy: %q
  queues:
  - name: root
    queues:
    - name: default
`, r.strategies)
}

// A shim confirms every release that the scheduler starts, inside the callback
// that announces it.
type shim struct {
	*counter
	scheduler *scheduler.Scheduler
	victims   atomic.Int64
}

// EndsForeignPods implements scheduler.ForeignPodEnder.
func (s *shim) EndsForeignPods() bool { return true }

func (s *shim) UpdateAllocation(response *si.AllocationResponse) error {
	if n := len(response.Released); n > 0 {
		s.victims.Add(int64(n))
		gone := make([]*si.AllocationRelease, n)
		for i, r := range response.Released {
			gone[i] = &si.AllocationRelease{ApplicationID: r.ApplicationID, AllocationKey: r.AllocationKey, TerminationType: r.TerminationType}
		}
		err := s.scheduler.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{AllocationsToRelease: gone}})
		if err != nil {
			return err
		}
	}
	return s.counter.UpdateAllocation(response)
}

// start registers a resource manager whose nodes are full, and returns when all
// pods on them were echoed.
func (r rollout) start(tb testing.TB) *shim {
	tb.Helper()
	rm := &shim{counter: newCounter()}
	s, err := scheduler.New(scheduler.Config{SettleDelay: -1, EchoAdopted: true})
	assert.NilError(tb, err)
	rm.scheduler = s
	rm.goal.Store(r.own())
	tb.Cleanup(s.Stop)
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: r.config()}, rm)
	assert.NilError(tb, err)
	applications := make([]*si.AddApplicationRequest, 2)
	for i := range applications {
		applications[i] = &si.AddApplicationRequest{ApplicationID: application(i), QueueName: "root.default", Ugi: &si.UserGroupInformation{User: "user"}}
	}
	assert.NilError(tb, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: applications}))
	for i := range r.nodes {
		on := layouts[i%len(layouts)]
		id := fmt.Sprintf("node-%05d", i)
		var vcores, memory int64
		pods := make([]*si.Allocation, len(on))
		for j, t := range on {
			vcores, memory = vcores+t.vcore, memory+t.memory<<30
			pods[j] = t.pod(id, j)
		}
		assert.NilError(tb, s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{
			{NodeID: id, Action: si.NodeInfo_CREATE, SchedulableResource: resource(vcores, memory)},
		}}))
		assert.NilError(tb, s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: pods}))
	}
	<-rm.reached
	return rm
}

// own is how many pods run that are not foreign.
func (r rollout) own() (pods int64) {
	for i := range r.nodes {
		for _, t := range layouts[i%len(layouts)] {
			if t.is != "foreign" && t.is != "static" {
				pods++
			}
		}
	}
	return pods
}

// pod is the tenant as it is reported.
func (t tenant) pod(node string, number int) *si.Allocation {
	a := &si.Allocation{
		AllocationKey: fmt.Sprintf("%s/%d", node, number), ApplicationID: application(0), NodeID: node,
		ResourcePerAlloc: resource(t.vcore, t.memory<<30), Priority: t.priority, Originator: t.is == "owner",
	}
	switch t.is {
	case "opted out":
		a.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: false}
	case "required":
		a.AllocationTags = map[string]string{common.DomainYuniKorn + common.KeyRequiredNode: node}
	case "foreign":
		a.ApplicationID, a.AllocationTags = "", map[string]string{common.Foreign: common.AllocTypeDefault}
	case "static":
		a.ApplicationID, a.AllocationTags = "", map[string]string{common.Foreign: common.AllocTypeStatic}
	}
	return a
}

// asks is one ask for each node.
func (r rollout) asks() *si.AllocationRequest {
	amounts := resource(agentVcore, agentMemory)
	asks := make([]*si.Allocation, r.nodes)
	for i := range asks {
		node := fmt.Sprintf("node-%05d", i)
		asks[i] = &si.Allocation{
			AllocationKey: "agent/" + node, ApplicationID: application(1), ResourcePerAlloc: amounts, Priority: agentPriority,
			AllocationTags: map[string]string{common.DomainYuniKorn + common.KeyRequiredNode: node},
		}
	}
	return &si.AllocationRequest{RmID: "rm", Allocations: asks}
}

// play sends the asks and returns when all are placed.
func (r rollout) play(tb testing.TB, rm *shim) {
	tb.Helper()
	rm.goal.Store(r.own() + int64(r.nodes))
	assert.NilError(tb, rm.scheduler.UpdateAllocation(r.asks()))
	select {
	case <-rm.reached:
	case <-time.After(time.Minute):
		tb.Fatalf("%d of %d asks are placed, %d victims", rm.placed.Load()-r.own(), r.nodes, rm.victims.Load())
	}
}

// Every ask gets its place. With the strategy minimal as many allocations end on each node as
// the set of victims with the least harm has. The default takes no worse class and no higher
// priority, and here no more victims either, though fewer that do more harm would be enough.
func TestARolloutOverAFullCluster(t *testing.T) {
	for _, strategies := range []string{"minimal", "single,multiple,minimal"} {
		r := rollout{nodes: 200, strategies: strategies}
		assert.Assert(t, r.optimum(harm.fewer) < r.optimum(harm.compare))
		assert.Equal(t, played(t, r), r.optimum(harm.compare), strategies)
	}
}

// played is the number of victims of a roll-out that came to its end.
func played(t *testing.T, r rollout) int {
	t.Helper()
	rm := r.start(t)
	r.play(t, rm)
	assert.NilError(t, rm.scheduler.Verify(context.Background(), "[rm]default"))
	view, err := rm.scheduler.View(context.Background(), "[rm]default")
	assert.NilError(t, err)
	for _, n := range view.Nodes {
		assert.Equal(t, len(n.Evictions)+len(n.Reservations), 0, n.ID)
	}
	return int(rm.victims.Load())
}

// processorTime is the time that the process has used so far, collecting garbage included.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// One ask for each of 5,000 full nodes, all at once, on one core: from the request
// to the callback that announces the last placement.
func BenchmarkRollout(b *testing.B) {
	for _, strategies := range []string{"minimal", "single,multiple,minimal"} {
		b.Run(strategies, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			r := rollout{nodes: 5_000, strategies: strategies}
			var elapsed, processor time.Duration
			var victims int64
			for range b.N {
				rm := r.start(b)
				runtime.GC()
				begin, used := time.Now(), processorTime()
				r.play(b, rm)
				elapsed, processor = elapsed+time.Since(begin), processor+processorTime()-used
				victims += rm.victims.Load()
				rm.scheduler.Stop()
			}
			n := float64(b.N)
			b.ReportMetric(float64(processor.Milliseconds())/n, "cpu-ms")
			b.ReportMetric(float64(elapsed.Milliseconds())/n, "wall-ms")
			b.ReportMetric(float64(victims)/n, "victims")
			b.ReportMetric(float64(r.optimum(harm.compare)), "leastHarm")
			b.ReportMetric(float64(r.optimum(harm.fewer)), "fewest")
			b.ReportMetric(0, "ns/op")
		})
	}
}
