package core_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// hugeAmounts are quantities of which few are counted before a sum is beyond 64 bits, and
// ordinary ones.
var hugeAmounts = [...]int64{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2, 1, 2, 3, 4, 5}

// hugeHistory plays commands about huge amounts, none of which may be refused.
type hugeHistory struct {
	t     *testing.T
	p     *core.Partition
	now   time.Time
	rand  *rand.Rand
	nodes int
	kinds *resources.Kinds
}

func newHugeHistory(t *testing.T, seed uint64) *hugeHistory {
	h := &hugeHistory{t: t, now: start, rand: rand.New(rand.NewPCG(seed, 11)), kinds: testKinds()}
	leaf := func(name string) api.QueueConfig {
		q := api.QueueConfig{Name: name}
		if h.rand.IntN(2) == 0 {
			q.Max = resources.Limits{int64(5 + h.rand.IntN(20)), resources.Unlimited - 1}
		}
		if h.rand.IntN(2) == 0 {
			q.Guaranteed = resources.Amounts{int64(1 + h.rand.IntN(10)), math.MaxInt64 - 2}
		}
		q.Properties.QuotaDelay = time.Second
		q.Properties.ApplicationSort = api.SortPolicy(h.rand.IntN(2))
		return q
	}
	config := api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{leaf("a"), leaf("b")}}}
	config.Preemption.Quota = true
	h.p = core.NewPartition(api.Options{Kinds: h.kinds, ReserveDelay: time.Second}, config)
	h.apply(api.AddApplication{ID: "app0", Queue: "root.a"})
	h.apply(api.AddApplication{ID: "app1", Queue: "root.b"})
	return h
}

// apply refuses nothing but what a queue has taken in and what a node was told twice.
func (h *hugeHistory) apply(c api.Command) {
	for _, e := range h.p.Apply(h.now, c) {
		switch e := e.(type) {
		case *api.AllocationRejected:
			h.t.Fatalf("%s is refused: %s", e.Key, e.Reason)
		case *api.NodeRejected:
			h.t.Fatalf("%s is refused: %s", e.ID, e.Reason)
		}
	}
}

func (h *hugeHistory) amounts() resources.Amounts {
	return resources.Amounts{hugeAmounts[h.rand.IntN(len(hugeAmounts))], hugeAmounts[h.rand.IntN(len(hugeAmounts))]}
}

// unknown is a kind that no node has, or some.
func (h *hugeHistory) unknown() string { return fmt.Sprint("x/kind", h.rand.IntN(12)) }

func (h *hugeHistory) step(i int) {
	a := &api.Allocation{
		Key: api.AllocationKey(fmt.Sprint("key", i)), Amounts: h.amounts(), Created: h.now, Priority: int32(h.rand.IntN(3)),
		Application: api.ApplicationID(fmt.Sprint("app", h.rand.IntN(2))), Preemptable: api.Preemptable{Stated: true, AllowSelf: true, AllowOthers: true},
	}
	node := api.NodeID(fmt.Sprint("n", h.rand.IntN(max(h.nodes, 1))))
	old := api.AllocationKey(fmt.Sprint("key", h.rand.IntN(i+1)))
	if h.rand.IntN(4) == 0 {
		kind, err := h.kinds.Intern(resources.UnknownKind)
		assert.NilError(h.t, err)
		a.Unknown = map[string]int64{h.unknown(): 1, "x/never": math.MaxInt64}
		if h.rand.IntN(2) == 0 {
			delete(a.Unknown, "x/never")
		}
		for _, quantity := range a.Unknown {
			a.Amounts.Set(kind, resources.Total(a.Amounts.Of(kind), quantity))
		}
	}
	switch h.rand.IntN(8) {
	case 0:
		capacity := h.amounts()
		if h.rand.IntN(2) == 0 {
			kind, err := h.kinds.Intern(h.unknown())
			assert.NilError(h.t, err)
			capacity.Set(kind, 5)
		}
		h.apply(api.AddNode{ID: api.NodeID(fmt.Sprint("n", h.nodes)), Capacity: capacity})
		h.nodes++
	case 1, 2, 3:
		if h.rand.IntN(4) == 0 {
			a.Required = node
		}
		h.apply(api.AddAllocation{Allocation: a})
	case 4:
		if h.nodes > 0 {
			a.Node = node
			h.apply(api.AddAllocation{Allocation: a})
		}
	case 5:
		a.Node, a.Application, a.Origin = node, "", api.Foreign
		h.apply(api.AddAllocation{Allocation: a})
	case 6:
		h.release(old)
	default:
		if h.nodes > 0 {
			h.apply(api.UpdateNode{ID: node, Capacity: h.amounts()})
		}
	}
	h.now = h.now.Add(time.Duration(h.rand.IntN(2000)) * time.Millisecond)
	h.settle()
}

// release takes an allocation away as one of either application.
func (h *hugeHistory) release(key api.AllocationKey) {
	for _, id := range []api.ApplicationID{"app0", "app1"} {
		h.apply(api.ReleaseAllocation{Key: key, Application: id, Termination: si.TerminationType_STOPPED_BY_RM})
	}
}

func (h *hugeHistory) settle() {
	for calls, more := 0, true; more; calls++ {
		assert.Assert(h.t, calls < 100, "Schedule is called for ever")
		_, more = h.p.Schedule(h.now)
		assert.NilError(h.t, h.p.Verify())
	}
}

// However large amounts are, and whatever kinds are made up, nothing is refused because of others, the laws hold, and when
// everything has gone the sums are zero again.
func TestHugeAmountsOfAHistory(t *testing.T) {
	for seed := range seeds.Of(t, 60) {
		h := newHugeHistory(t, seed)
		const steps = 120
		for i := range steps {
			h.step(i)
		}
		for i := range steps {
			h.release(api.AllocationKey(fmt.Sprint("key", i)))
			assert.NilError(t, h.p.Verify())
		}
		v := h.p.View()
		for what, sum := range map[string]resources.Amounts{"used": v.Used, "occupied": v.Occupied, "pending": v.Root.Pending} {
			assert.Assert(t, sum.IsZero(), "seed %d: %s %v", seed, what, sum)
		}
		for i := range h.nodes {
			h.apply(api.RemoveNode{ID: api.NodeID(fmt.Sprint("n", i))})
		}
		assert.Assert(t, h.p.View().Capacity.IsZero(), "seed %d", seed)
	}
}

// 10,000 asks, 1,000 nodes, and 1,000 foreign allocations and placed ones of the most that 64 bits
// hold leave room for what is small, and every sum comes back.
func TestHugeAmountsBeyondCounting(t *testing.T) {
	h := newHugeHistory(t, 4)
	huge := resources.Amounts{math.MaxInt64, math.MaxInt64}
	allocation := func(key string, amounts resources.Amounts) *api.Allocation {
		return &api.Allocation{Key: api.AllocationKey(key), Application: "app0", Amounts: amounts, Created: h.now}
	}
	const asks, nodes = 10_000, 1_000
	for i := range nodes {
		node := api.NodeID(fmt.Sprintf("huge%03d", i))
		h.apply(api.AddNode{ID: node, Capacity: huge, Drained: true})
		placed, foreign := allocation(fmt.Sprint("placed", i), huge), allocation(fmt.Sprint("foreign", i), huge)
		placed.Node, foreign.Node, foreign.Application, foreign.Origin = node, node, "", api.Foreign
		h.apply(api.AddAllocation{Allocation: placed})
		h.apply(api.AddAllocation{Allocation: foreign})
	}
	for i := range asks {
		h.apply(api.AddAllocation{Allocation: allocation(fmt.Sprint("ask", i), huge)})
	}
	h.apply(api.AddNode{ID: "small", Capacity: resources.Amounts{10, 10}})
	small := allocation("small", resources.Amounts{2, 2})
	small.Application = "app1"
	h.apply(api.AddAllocation{Allocation: small})
	h.settle()
	v := h.p.View()
	assert.Equal(t, v.Nodes[nodes].ID, api.NodeID("small"))
	assert.Equal(t, len(v.Nodes[nodes].Allocations), 1, "what is small runs")
	assert.DeepEqual(t, v.Root.Pending, huge)
	for i := range asks - 1 {
		h.apply(api.ReleaseAllocation{Key: api.AllocationKey(fmt.Sprint("ask", i)), Application: "app0"})
	}
	assert.DeepEqual(t, h.p.View().Root.Pending, huge)
	h.apply(api.ReleaseAllocation{Key: api.AllocationKey(fmt.Sprint("ask", asks-1)), Application: "app0"})
	for i := range nodes {
		h.apply(api.RemoveNode{ID: api.NodeID(fmt.Sprintf("huge%03d", i))})
	}
	assert.NilError(t, h.p.Verify())
	v = h.p.View()
	assert.Assert(t, v.Root.Pending.IsZero())
	assert.DeepEqual(t, v.Used, resources.Amounts{2, 2})
	assert.DeepEqual(t, v.Capacity, resources.Amounts{10, 10})
}
