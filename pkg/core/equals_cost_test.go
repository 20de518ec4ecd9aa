package core_test

import (
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestABacklogLooksAtWhatChanged pins what attempts look at for equal asks that wait
// together. Where no victim serves two of them, it is what they look at for asks that come
// one after the other.
func TestABacklogLooksAtWhatChanged(t *testing.T) {
	for _, c := range []struct {
		name string
		attemptLoad
		most uint64 // for each decision
	}{
		{"one victim", attemptLoad{pods: 4, asks: 600, classes: 1, victims: 1}, 2},
		{"two victims", attemptLoad{pods: 4, asks: 600, classes: 1, victims: 2}, 3},
		{"ten classes", attemptLoad{pods: 4, asks: 600, classes: 10, victims: 1}, 12},
		{"by guarantee", attemptLoad{pods: 4, asks: 600, classes: 1, victims: 1, byGuarantee: true}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, nodes := range []int{500, 5000} {
				load := c.attemptLoad
				load.nodes, load.pods = nodes, nodes*c.pods
				p := load.build(t, 256)
				run(p)
				for i := range load.asks {
					load.addAsk(p, start, i)
				}
				run(p)
				view := p.View()
				assert.Equal(t, view.Preempted.Victims.Total(), uint64(load.asks*load.victims))
				assert.Equal(t, view.Preempted.Nominations, uint64(load.asks))
				t.Logf("%d nodes: %d evaluated for %d decisions", nodes, view.Work.NodeCosts, load.asks)
				assert.Assert(t, view.Work.NodeCosts <= c.most*uint64(load.asks), "%d nodes: %d evaluated", nodes, view.Work.NodeCosts)
			}
		})
	}
}

// mixedNodes are nodes with pods of three sizes.
func mixedNodes(nodes, pods int) (list []mixNode) {
	for i := range nodes {
		n := mixNode{}
		for k := range pods {
			n.pods = append(n.pods, mixPod{size: []int64{1, 1, 2, 2, 4}[(i*7+k*k)%5]})
		}
		list = append(list, n)
	}
	return list
}

// sizesOfAsks has as much wait as a quarter of what runs holds on nodes with pods of three sizes:
// equal asks, or asks of three sizes.
func sizesOfAsks(nodes int, sizes int64, byGuarantee bool) mix {
	m := mix{size: 2, asks: int64(nodes) / sizes, byGuarantee: byGuarantee, nodes: mixedNodes(nodes, 4)}
	for i := range m.asks {
		m.sizes = append(m.sizes, 2+i*7%sizes)
	}
	return m
}

// TestABacklogTakesTheLargest has as many victims of four units as asks need, and no others: half as
// many as equal asks of two, and three for each four asks of two, three and four.
func TestABacklogTakesTheLargest(t *testing.T) {
	for _, byGuarantee := range []bool{false, true} {
		for sizes, victims := range map[int64]int{1: 100, 3: 50} {
			t.Run(fmt.Sprintf("guarantee=%t/sizes=%d", byGuarantee, sizes), func(t *testing.T) {
				m := sizesOfAsks(200, sizes, byGuarantee)
				o := m.play(t, true)
				assert.Equal(t, o.served, m.asks)
				assert.Equal(t, o.victims, victims)
			})
		}
	}
}

// BenchmarkBacklog measures decisions for asks that share victims, equal ones and others.
func BenchmarkBacklog(b *testing.B) {
	for _, byGuarantee := range []bool{false, true} {
		for _, sizes := range []int64{1, 3} {
			b.Run(fmt.Sprintf("guarantee=%t/sizes=%d", byGuarantee, sizes), func(b *testing.B) {
				benchmarkBacklog(b, sizesOfAsks(5000, sizes, byGuarantee))
			})
		}
	}
}

func benchmarkBacklog(b *testing.B, m mix) {
	b.Helper()
	victims := 0
	for b.Loop() {
		b.StopTimer()
		p := m.build()
		for i := range m.asks {
			m.addAsk(p, i)
		}
		b.StartTimer()
		victims = len(drain(p))
	}
	b.ReportMetric(float64(victims), "victims")
	b.ReportMetric(float64(m.asks)*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(0, "ns/op")
}

// TestAMixedBacklogLooksAtFew has nodes with pods of three sizes. Their bounds are close to
// what they cost, so few are looked at before they are the best.
func TestAMixedBacklogLooksAtFew(t *testing.T) {
	for _, nodes := range []int{200, 2000} {
		m := mix{size: 2, asks: 1000, byGuarantee: true, nodes: mixedNodes(nodes, 10)}
		p := m.build()
		for i := range m.asks {
			m.addAsk(p, i)
		}
		drain(p)
		view := p.View()
		t.Logf("%d nodes: %d evaluated, %d victims for %d asks", nodes, view.Work.NodeCosts, view.Preempted.Victims.Total(), m.asks)
		assert.Equal(t, view.Preempted.Nominations, uint64(m.asks))
		assert.Assert(t, view.Work.NodeCosts <= uint64(nodes)+3*uint64(m.asks))
	}
}

// TestAsksThatRunAloneOnANode counts the questions about asks of which no two run on one
// node. That is learnt from few of them.
func TestAsksThatRunAloneOnANode(t *testing.T) {
	m := mix{size: 1, asks: 60, byGuarantee: true}
	for range 200 {
		m.nodes = append(m.nodes, mixNode{pods: []mixPod{{size: 1}, {size: 4}}})
	}
	questions, beside := 0, 0
	options := api.Options{Kinds: testKinds(), ReserveDelay: -1}
	options.Feasible = func(api.AllocationKey, api.NodeID, bool) error { return nil }
	options.Constraints = func(api.AllocationKey) string { return "alone" }
	options.Simulate = func(ask api.AllocationKey, node api.NodeID, added, removed []api.AllocationKey) error {
		if questions++; len(added) > 0 {
			beside++
			return errors.New("one is there")
		}
		return nil
	}
	p := m.buildWith(options)
	for i := range m.asks {
		m.addAsk(p, i)
	}
	evicted := drain(p)
	assert.Equal(t, len(evicted), int(m.asks))
	for _, e := range evicted[core.AloneMax:] {
		assert.Equal(t, e.Amounts[0], int64(1))
	}
	t.Logf("%d questions, %d about two asks on one node", questions, beside)
	assert.Assert(t, beside <= 2*core.AloneMax, "%d", beside)
}

func (m *mix) addAsk(p *core.Partition, i int64) {
	p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
		Key: api.AllocationKey(fmt.Sprintf("high-%05d", i)), Application: "high", Created: start,
		Amounts: resources.Amounts{m.sizeOf(i)}, Priority: 5,
	}})
}
