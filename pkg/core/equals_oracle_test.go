package core_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A mix is nodes that pods of several sizes fill, and equal asks that wait together.
type mix struct {
	nodes       []mixNode
	size, asks  int64
	sizes       []int64 // of the asks, if they differ
	byGuarantee bool
	// lowGuaranteed is what the pods that run cannot lose.
	lowGuaranteed int64
	// lookedAt is how many asks behind one are looked at, about; zero leaves it as it is.
	lookedAt int
}

type mixNode struct {
	free int64
	pods []mixPod
}

type mixPod struct {
	size     int64
	priority int32
}

// randomMix has pods of some sizes and of priorities below a number.
func randomMix(c chance, sizes []int64, priorities int, byGuarantee bool) mix {
	m := mix{size: int64(1 + c.IntN(3)), asks: int64(1 + c.IntN(10)), byGuarantee: byGuarantee}
	for range 2 + c.IntN(5) {
		n := mixNode{free: int64(max(c.IntN(5)-3, 0))}
		for range 1 + c.IntN(5) {
			n.pods = append(n.pods, mixPod{sizes[c.IntN(len(sizes))], int32(c.IntN(priorities))})
		}
		m.nodes = append(m.nodes, n)
	}
	return m
}

// An outcomeOfMix is how many asks room is made for, and what for.
type outcomeOfMix struct {
	served  int64
	victims int
	units   int64
	highest []int32 // priorities of the victims, the highest first
	inFree  uint64  // asks placed in free room before any victim had ended
}

// build has the pods run, in queue low.
func (m *mix) build() *core.Partition {
	return m.buildWith(api.Options{Kinds: testKinds(), ReserveDelay: -1})
}

func (m *mix) buildWith(options api.Options) *core.Partition {
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "low"}, {Name: "high"}}}
	config := api.Config{Name: "default"}
	if m.lowGuaranteed > 0 {
		root.Queues[0].Guaranteed = resources.Amounts{m.lowGuaranteed}
	}
	if m.byGuarantee {
		root.Queues[1].Guaranteed = resources.Amounts{m.units()}
		config.Preemption.Priority = api.PriorityOff
	}
	config.Root = root
	p := core.NewPartition(options, config)
	p.LimitBacklog(m.lookedAt)
	p.Apply(start, api.AddApplication{ID: "low", Queue: "root.low"})
	p.Apply(start, api.AddApplication{ID: "high", Queue: "root.high"})
	pods := 0
	for i, n := range m.nodes {
		capacity := n.free
		for _, pod := range n.pods {
			capacity += pod.size
		}
		id := api.NodeID(fmt.Sprintf("n%05d", i))
		p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{capacity}})
		for _, pod := range n.pods {
			pods++
			p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprintf("low-%06d", pods*7919%1000003)), Application: "low", Created: start,
				Node: id, Amounts: resources.Amounts{pod.size}, Priority: pod.priority,
			}})
		}
	}
	return p
}

// sizeOf is what one of the asks needs.
func (m *mix) sizeOf(ask int64) int64 {
	if m.sizes != nil {
		return m.sizes[ask]
	}
	return m.size
}

// units is what all asks need.
func (m *mix) units() (sum int64) {
	for i := range m.asks {
		sum += m.sizeOf(i)
	}
	return sum
}

// play has the asks come together, or one after the other, so that each is decided
// alone. Once the victims have ended, the asks for which room was made run.
func (m *mix) play(tb testing.TB, together bool) (o outcomeOfMix) {
	tb.Helper()
	p := m.build()
	var evicted []*api.EvictionRequested
	for i := range m.asks {
		m.addAsk(p, i)
		if !together {
			evicted = append(evicted, drain(p)...)
		}
	}
	evicted = append(evicted, drain(p)...)
	assert.NilError(tb, p.VerifyAttempts())
	assert.NilError(tb, p.Verify())
	view := p.View()
	o.inFree = view.Work.Placements
	o.served = int64(o.inFree)
	for _, n := range view.Nodes {
		o.served += int64(len(n.Nominated))
	}
	for _, e := range evicted {
		o.victims++
		o.units += e.Amounts[0]
		o.highest = append(o.highest, e.Priority)
		p.Apply(start, api.ReleaseAllocation{
			Application: e.Application, Key: e.Key, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER,
		})
	}
	drain(p)
	assert.Equal(tb, int64(p.View().Work.Placements), o.served)
	slices.SortFunc(o.highest, func(a, b int32) int { return int(b - a) })
	return o
}

// fewest is by brute force the fewest victims for as many asks as can be served: of each
// node for each number of asks by looking at every set of its pods, and then of all nodes.
func (m *mix) fewest() (served int64, victims int) {
	least := []int{0}
	for len(least) <= int(m.asks) {
		least = append(least, math.MaxInt32)
	}
	for _, n := range m.nodes {
		own := n.fewestFor(m.size, m.asks)
		next := slices.Clone(least)
		for before, some := range least {
			for here, more := range own {
				if all := before + here; all < len(next) {
					next[all] = min(next[all], some+more)
				}
			}
		}
		least = next
	}
	for served = m.asks; least[served] >= math.MaxInt32; served-- {
	}
	return served, least[served]
}

// fewestFor is the fewest victims by the number of asks.
func (n *mixNode) fewestFor(size, asks int64) []int {
	least := slices.Repeat([]int{math.MaxInt32 / 2}, int(asks)+1)
	for set := range uint(1) << len(n.pods) {
		room := n.free
		for i, pod := range n.pods {
			room += int64(set>>i&1) * pod.size
		}
		for served := range min(room/size, asks) + 1 {
			least[served] = min(least[served], bits.OnesCount(set))
		}
	}
	return slices.DeleteFunc(least, func(v int) bool { return v >= math.MaxInt32/2 })
}

// TestEqualAsksTakeTheFewestVictims compares the victims of equal asks that wait together
// with the fewest that there can be, and with those of one decision after the other.
func TestEqualAsksTakeTheFewestVictims(t *testing.T) {
	for _, sizes := range [][]int64{{1, 2, 4}, {1, 2, 3, 4, 5, 6}} {
		for _, byGuarantee := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v guarantee=%t", sizes, byGuarantee), func(t *testing.T) {
				fewest, taken, alone := 0, 0, 0
				for seed := range seeds.Part(t, uint64(1000)) {
					m := randomMix(rand.New(rand.NewPCG(seed, uint64(len(sizes)))), sizes, 1, byGuarantee)
					served, least := m.fewest()
					together, single := m.play(t, true), m.play(t, false)
					assert.Equal(t, together.served, served, "seed %d: %+v", seed, m)
					assert.Equal(t, single.served, served, "seed %d", seed)
					assert.Assert(t, together.victims >= least && together.victims <= single.victims, "seed %d: %d victims of %d, alone %d: %+v",
						seed, together.victims, least, single.victims, m)
					fewest, taken, alone = fewest+least, taken+together.victims, alone+single.victims
				}
				t.Logf("%d victims are the fewest, %d are taken, %d by single decisions", fewest, taken, alone)
				assert.Assert(t, taken*100 <= fewest*102)
			})
		}
	}
}

// TestEqualAsksSpareImportantPods has pods of several priorities: room for no ask costs
// more important victims than single decisions take, and there are never more of them.
func TestEqualAsksSpareImportantPods(t *testing.T) {
	for _, byGuarantee := range []bool{true, false} {
		taken, alone := 0, 0
		for seed := range seeds.Part(t, uint64(1000)) {
			m := randomMix(rand.New(rand.NewPCG(seed, 9)), []int64{1, 2, 3, 4}, 3, byGuarantee)
			together, single := m.play(t, true), m.play(t, false)
			assert.Equal(t, together.served, single.served, "seed %d", seed)
			assert.Assert(t, together.victims <= single.victims, "seed %d: %+v and %+v", seed, together, single)
			if together.victims > 0 {
				assert.Assert(t, together.highest[0] <= single.highest[0], "seed %d: %+v and %+v", seed, together, single)
			}
			taken, alone = taken+together.victims, alone+single.victims
		}
		t.Logf("guarantee=%t: %d victims, %d by single decisions", byGuarantee, taken, alone)
		assert.Assert(t, taken*100 < alone*98)
	}
}

// backlogMix is a queue that is owed half of a cluster and asks with 250 pods of two
// units. Its 1,000 units are held by 110 pods of four, 174 of two and 212 of one.
func backlogMix() mix {
	m := mix{size: 2, asks: 250, byGuarantee: true, nodes: make([]mixNode, 50), lowGuaranteed: 500}
	var pods []mixPod
	for _, of := range []struct {
		size  int64
		count int
	}{{1, 212}, {2, 174}, {4, 110}} {
		pods = append(pods, slices.Repeat([]mixPod{{size: of.size}}, of.count)...)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	for i, pod := range pods {
		n := &m.nodes[i%len(m.nodes)]
		n.pods = append(n.pods, pod)
	}
	return m
}

// TestABacklogOf250 takes the 140 victims that are the fewest which hold 500 units: all
// those of four, and 30 of two. Nothing else is freed, since nothing else may be.
func TestABacklogOf250(t *testing.T) {
	m := backlogMix()
	var sizes []int64
	for _, n := range m.nodes {
		for _, pod := range n.pods {
			sizes = append(sizes, pod.size)
		}
	}
	slices.Sort(sizes)
	fewest, needed := 0, m.size*m.asks
	for _, size := range slices.Backward(sizes) {
		if needed > 0 {
			fewest, needed = fewest+1, needed-size
		}
	}
	single, together := m.play(t, false), m.play(t, true)
	assert.Equal(t, fewest, 140)
	assert.Equal(t, single.served, m.asks)
	assert.Equal(t, single.victims, 212)
	assert.Equal(t, together.served, m.asks)
	assert.Equal(t, together.victims, fewest)
	assert.Equal(t, together.units, m.size*m.asks)
}

// TestMoreEqualAsksCome has three asks wait after two for which room was made. What a victim
// of six is worth was worked out for two.
func TestMoreEqualAsksCome(t *testing.T) {
	m := mix{size: 2, asks: 5, byGuarantee: true}
	for _, size := range []int64{6, 6, 4, 4} {
		m.nodes = append(m.nodes, mixNode{pods: []mixPod{{size: size}, {7 - size, 9}}})
	}
	m.comeInTwo(t, 4, 6)
}

// comeInTwo has two asks come, and three more once room is made. Each time one victim is
// evicted, of the size given.
func (m *mix) comeInTwo(t *testing.T, sizes ...int64) {
	t.Helper()
	p := m.build()
	for i, asks := range [][]int64{{0, 1}, {2, 3, 4}} {
		for _, ask := range asks {
			m.addAsk(p, ask)
		}
		evicted := drain(p)
		assert.Equal(t, len(evicted), 1)
		assert.Equal(t, evicted[0].Amounts[0], sizes[i])
	}
	assert.NilError(t, p.VerifyAttempts())
}

// TestEqualAsksBesideGuarantees leaves little to take from the pods that run. Which asks
// are served is then a matter of sizes that fit, so neither way serves all that it could.
// Together more are served, and no more victims are taken for as many.
func TestEqualAsksBesideGuarantees(t *testing.T) {
	mixes, more, fewer := seeds.Part(t, 2000), 0, 0
	for seed := range uint64(mixes) {
		c := rand.New(rand.NewPCG(seed, 10))
		m := randomMix(c, []int64{1, 2, 3, 4, 5, 6}, 1, true)
		for _, n := range m.nodes {
			for _, pod := range n.pods {
				m.lowGuaranteed += pod.size
			}
		}
		m.lowGuaranteed = max(m.lowGuaranteed-m.size*m.asks-int64(c.IntN(4)-1), 1)
		together, single := m.play(t, true), m.play(t, false)
		switch {
		case together.served > single.served:
			more++
		case together.served < single.served:
			fewer++
		default:
			assert.Assert(t, together.victims <= single.victims, "seed %d: %+v and %+v of %+v", seed, together, single, m)
		}
	}
	t.Logf("of %d mixes more asks are served in %d, fewer in %d", mixes, more, fewer)
	assert.Assert(t, more > 20*fewer && fewer*150 < mixes)
}
