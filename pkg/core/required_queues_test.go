package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// agentsOfTwoQueues is a full node and two asks of different queues that require it. Queues are
// fences, have offsets and guarantees.
func agentsOfTwoQueues(seed uint64) *core.Partition {
	r := rand.New(rand.NewPCG(seed, 15))
	root := core.QueueConfig{Name: "root", Parent: true}
	for _, name := range []string{"a", "b", "c"} {
		q := core.QueueConfig{Name: name}
		switch r.IntN(8) {
		case 0, 1:
			q.Properties.PreemptionPolicy = core.PreemptionFence
		case 2:
			q.Properties.PriorityOffset = int32(r.IntN(3) - 1)
		case 3:
			q.Properties.PriorityFence = true
		}
		if r.IntN(3) == 0 {
			q.Guaranteed = resources.Amounts{int64(1 + r.IntN(4))}
		}
		root.Queues = append(root.Queues, q)
	}
	plans := preemptor.DefaultConfig()
	plans.StartDelay, plans.Strategies = 0, []preemptor.Strategy{preemptor.Minimal}
	p := core.NewPartition(core.Options{Kinds: testKinds(), ReserveDelay: -1}, core.Config{
		Name: "default", Root: root, Preemption: core.PreemptionConfig{RequiredNode: plans},
	})
	for _, q := range root.Queues {
		p.Apply(start, core.AddApplication{ID: core.ApplicationID(q.Name), Queue: core.QueuePath("root." + q.Name)})
	}
	capacity := int64(r.IntN(2))
	var pods []*core.Allocation
	for i := range 3 + r.IntN(5) {
		pod := ask(core.ApplicationID("abc"[r.IntN(3):][:1]), fmt.Sprint("pod", i), int64(1+r.IntN(4))).Allocation
		pod.Node, pod.Priority, pod.Originator = "n", r.Int32N(3), r.IntN(5) == 0
		capacity += pod.Amounts[0]
		pods = append(pods, pod)
	}
	p.Apply(start, core.AddNode{ID: "n", Capacity: resources.Amounts{capacity}})
	for _, pod := range pods {
		p.Apply(start, core.AddAllocation{Allocation: pod})
	}
	first := r.IntN(3)
	for i, at := range []int{first, (first + 1 + r.IntN(2)) % 3} {
		agent := ask(core.ApplicationID("abc"[at:at+1]), fmt.Sprint("agent", i), int64(1+r.IntN(3))).Allocation
		agent.Required, agent.Priority = "n", r.Int32N(4)
		p.Apply(start, core.AddAllocation{Allocation: agent})
	}
	return p
}

// bothMayTake are the least harm of a set of victims that each of two asks may take alone, and
// whether there is one. In what is guaranteed to the queue of one of them, and not to the
// other, victims are not looked for.
func (c *restChecker) bothMayTake(asks [2]*torturePod) (least [3]int, found bool) {
	o, node := c.oracle, &c.oracle.w.Nodes[0]
	both := *asks[0]
	both.Amounts = both.Amounts.plus(asks[1].Amounts, 1)
	place, _ := o.place(&both, node, preemptor.RequiredNode)
	var candidates []*torturePod
	for _, v := range o.running {
		may := o.w.queue(v.Queue).Guaranteed == (tortureAmounts{}) || v.Queue != asks[0].Queue && v.Queue != asks[1].Queue
		for _, ask := range asks {
			alone, _ := o.place(ask, node, preemptor.RequiredNode)
			may = may && o.candidate(&alone, v)
		}
		if may {
			candidates = append(candidates, v)
		}
	}
	place.guards = true
	for set := range 1 << len(candidates) {
		var victims []*torturePod
		for i, v := range candidates {
			if set>>i&1 == 1 {
				victims = append(victims, v)
			}
		}
		if harm := tortureHarm(victims); o.enough(&place, victims) && o.keeps(&place, victims) && (!found || slices.Compare(harm[:], least[:]) < 0) {
			least, found = harm, true
		}
	}
	return least, found
}

func tortureHarm(victims []*torturePod) (harm [3]int) {
	for _, v := range victims {
		harm = [3]int{max(harm[0], int(v.class())), max(harm[1], v.Priority), harm[2] + 1}
	}
	return harm
}

// TestAgentsOfTwoQueues compares what ends for two asks of one node and different queues with
// every set of victims that each of them may take: none does less harm.
func TestAgentsOfTwoQueues(t *testing.T) {
	told, shared := 0, 0
	for seed := range uint64(6000) {
		p := agentsOfTwoQueues(seed)
		c := newRestChecker(p.View(), start)
		asks := [2]*torturePod{c.oracle.w.pod("agent0"), c.oracle.w.pod("agent1")}
		var victims []*torturePod
		served := map[core.AllocationKey]bool{}
		for more := true; more; {
			var fx core.Effects
			fx, more = p.Schedule(start)
			for _, e := range fx {
				switch e := e.(type) {
				case *core.EvictionRequested:
					victim, ask := c.oracle.w.pod(string(e.Key)), c.oracle.w.pod(string(e.For))
					lawful := tortureWithin(victim.Queue, c.oracle.fence(ask.Queue)) && c.oracle.compare(victim, ask) <= 0
					assert.Assert(t, lawful, "seed %d: %s ends for %s", seed, e.Key, e.For)
					victims, served[e.For] = append(victims, victim), true
				case core.Placed:
					served[e.Key] = true
				}
			}
		}
		assert.NilError(t, p.Verify())
		least, found := c.bothMayTake(asks)
		scaled := slices.ContainsFunc(c.oracle.w.Queues, func(q tortureQueue) bool { return q.Fence || q.Offset != 0 })
		if !found || len(victims) == 0 || scaled { // each ask sees other priorities
			continue
		}
		harm := tortureHarm(victims)
		told++
		if len(served) == 1 {
			shared++
		}
		assert.Assert(t, slices.Compare(harm[:], least[:]) <= 0, "seed %d: %s do the harm %v, %v would be enough", seed, tortureKeys(victims), harm, least)
	}
	t.Logf("victims end in %d worlds, in %d for both asks together", told, shared)
	assert.Assert(t, told > 1000 && shared > 100)
}
