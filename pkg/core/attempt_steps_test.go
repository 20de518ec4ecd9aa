package core_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// contested is a cluster of nodes on which victims must hold hardly more than an ask wants,
// since their queue can spare no more, and budgets allow few of them. So the search on every
// node is stopped, or takes nearly as long as that.
func contested(nodes int) *core.Partition {
	const pods = 48
	r := rand.New(rand.NewPCG(1, 51))
	sizes, least, sum := make([]int64, nodes*pods), int64(0), int64(0)
	for i := range sizes {
		sizes[i] = 1<<24 + r.Int64N(1<<24)
		sum += sizes[i]
	}
	for _, v := range sizes[:pods/3] {
		least += v
	}
	spare := resources.Amounts{sum - least, sum - least}
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "a"}, {Name: "b", Guaranteed: spare}}}
	options := api.Options{Kinds: testKinds(), ReserveDelay: -1, Budgets: func(keys []api.AllocationKey) []api.DisruptionBudget {
		b := make([]api.DisruptionBudget, 3)
		for i, key := range keys {
			in := &b[int(key[len(key)-1])%len(b)]
			in.Name, in.Allowed = fmt.Sprint("b-", i%len(b)), 10
			in.Allocations = append(in.Allocations, key)
		}
		return b
	}}
	p := core.NewPartition(options, api.Config{Name: "default", Root: root, Preemption: api.PreemptionConfig{Budgets: preemptor.HardBudgets}})
	for _, name := range []string{"a", "b"} {
		p.Apply(start, api.AddApplication{ID: api.ApplicationID(name), Queue: api.QueuePath("root." + name)})
	}
	for n := range nodes {
		id, full := api.NodeID(fmt.Sprintf("n%03d", n)), resources.Amounts{0, 0}
		for i, v := range sizes[n*pods:][:pods] {
			full.Add(resources.Amounts{v, sizes[(n*pods+i*7)%len(sizes)]})
		}
		p.Apply(start, api.AddNode{ID: id, Capacity: full})
		for i, v := range sizes[n*pods:][:pods] {
			runs := ask("b", fmt.Sprintf("b-%03d-%02d", n, i), v, sizes[(n*pods+i*7)%len(sizes)])
			runs.Allocation.Node, runs.Allocation.Priority = id, int32(i%3)
			p.Apply(start, runs)
		}
	}
	wants := ask("a", "wants", least-5, least-5)
	wants.Allocation.Priority = 10
	p.Apply(start, wants)
	return p
}

// stepsOfBatches are the steps of each call of Schedule until nothing is left to do.
func stepsOfBatches(t *testing.T, p *core.Partition) (took []uint64, all uint64) {
	t.Helper()
	for more := true; more; {
		assert.Assert(t, len(took) < 100, "scheduling does not come to rest")
		before := p.View().Work.Steps
		_, more = p.Schedule(start)
		took = append(took, p.View().Work.Steps-before)
		all += took[len(took)-1]
	}
	return took, all
}

// A batch takes no more steps of searches than its bound and those of one node, however many
// nodes are hard to search, and the attempt goes on in the next. Nothing is searched twice.
func TestABatchTakesFewSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	const bound = core.EvaluationsMax * core.StepsPerEvaluation
	p, unbound := contested(30), contested(30)
	took, all := stepsOfBatches(t, p)
	t.Logf("%d batches, %d steps, at most %d in one, the bound is %d", len(took), all, slices.Max(took), bound)
	assert.Assert(t, slices.Max(took) <= 3*bound)

	unbound.LimitBatches(math.MaxInt)
	took, once := stepsOfBatches(t, unbound)
	assert.Equal(t, len(took), 1)
	assert.Equal(t, all, once)
	assert.Assert(t, once > 10*bound, "the search is too easy to show anything")
}
