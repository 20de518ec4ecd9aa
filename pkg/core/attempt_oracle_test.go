package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An oracle knows what is best for the only ask of a small world, by looking at
// every set of victims.
type oracle struct {
	*world
	ask  *api.AskView
	pods []*api.Allocation
}

func oracleOf(p *core.Partition) oracle {
	o := oracle{world: worldOf(p.View(), naive{})}
	for _, n := range o.view.Nodes {
		o.pods = append(o.pods, n.Allocations...)
	}
	for _, app := range o.apps {
		for i := range app.Asks {
			o.ask = &app.Asks[i]
		}
	}
	return o
}

// below lists a queue and those above it, up to before another.
func (o oracle) below(path api.QueuePath, common *api.QueueView) []*api.QueueView {
	up := o.upFrom(path)
	return up[:slices.Index(up, common)]
}

func (o oracle) commonWith(path api.QueuePath) *api.QueueView {
	own := o.upFrom(o.queueOf(o.ask.Allocation))
	up := o.upFrom(path)
	return up[slices.IndexFunc(up, func(q *api.QueueView) bool { return slices.Contains(own, q) })]
}

// seen is a priority as it looks below a common queue.
func (o oracle) seen(a *api.Allocation, common *api.QueueView) int64 {
	value := int64(a.Priority)
	for _, q := range o.below(o.queueOf(a), common) {
		if q.Properties.PriorityFence {
			value = 0
		}
		value += int64(q.Properties.PriorityOffset)
	}
	return value
}

// above is by how much a victim comes before the ask, seen from where their ways
// meet.
func (o oracle) above(victim *api.Allocation) int64 {
	if o.queueOf(victim) == o.queueOf(o.ask.Allocation) {
		return int64(victim.Priority) - int64(o.ask.Priority)
	}
	common := o.commonWith(o.queueOf(victim))
	return o.seen(victim, common) - o.seen(o.ask.Allocation, common)
}

// due reports whether some kinds are due to the ask below a common queue.
func (o oracle) due(common *api.QueueView, kinds resources.Amounts) bool {
	some := false
	for i, asked := range o.ask.Amounts {
		kind, here := resources.Kind(i), false
		for _, q := range o.below(o.queueOf(o.ask.Allocation), common) {
			most := q.Guaranteed.Of(kind)
			if asked == 0 || most == 0 {
				continue
			}
			if q.Used.Of(kind)+asked > most {
				return false
			}
			here = true
		}
		if kinds.Of(kind) > 0 && !here {
			return false
		}
		some = some || here
	}
	return some
}

// root is the queue that victims are in.
func (o oracle) root() *api.QueueView {
	up := o.upFrom(o.queueOf(o.ask.Allocation))
	for _, q := range up {
		if q.Properties.PreemptionPolicy == api.PreemptionFence {
			return q
		}
	}
	return up[len(up)-1]
}

// mayBeVictim reports whether an allocation may be a victim, for what is short.
func (o oracle) mayBeVictim(victim *api.Allocation, short resources.Amounts) bool {
	path := o.queueOf(victim)
	switch {
	case !strings.HasPrefix(string(path)+".", string(o.root().Path)+"."),
		path == o.queueOf(o.ask.Allocation),
		o.queues[path].Properties.PreemptionPolicy == api.PreemptionDisabled:
		return false
	}
	return o.above(victim) <= 0 && o.due(o.commonWith(path), short)
}

// keepsFloors reports whether no queue loses what is guaranteed to it, if these end.
func (o oracle) keepsFloors(gone []*api.Allocation) bool {
	lost := map[*api.QueueView]resources.Amounts{}
	for _, a := range gone {
		path := o.queueOf(a)
		for _, q := range o.below(path, o.commonWith(path)) {
			sum := lost[q]
			sum.Add(a.Amounts)
			lost[q] = sum
		}
	}
	for q, sum := range lost {
		for i, v := range sum {
			most := q.Guaranteed.Of(resources.Kind(i))
			if v > 0 && most > 0 && q.Used.Of(resources.Kind(i))-q.Releasing.Of(resources.Kind(i))-v < most {
				return false
			}
		}
	}
	return true
}

// A guaranteeCost is what a set of victims costs by guarantee: the class of the worst,
// the highest priority, their number and their weight.
type guaranteeCost [4]int64

func (o oracle) costOf(n *api.NodeView, gone []*api.Allocation) (t guaranteeCost) {
	t[1] = -1 << 40
	var whole resources.Amounts
	whole.Raise(n.Available)
	for _, a := range n.Allocations {
		whole.Add(a.Amounts)
	}
	for _, a := range gone {
		t[0] = max(t[0], int64(classRank(a)))
		t[1] = max(t[1], o.above(a)+int64(o.ask.Priority))
		for i, v := range a.Amounts {
			if all := whole.Of(resources.Kind(i)); v > 0 && all > 0 {
				t[3] += (v*1000 + all - 1) / all
			}
		}
	}
	t[2] = int64(len(gone))
	return t
}

// lawful visits every set of victims by guarantee, or for quota, that makes room on a node.
func (o oracle) lawful(yield func(n *api.NodeView, gone []*api.Allocation)) {
	quota := o.quotaToFree(o.ask)
	for _, n := range o.view.Nodes {
		need := o.need(n)
		short := need.Clone()
		short.Raise(quota)
		for set := range uint(1) << len(o.pods) {
			var gone []*api.Allocation
			var here resources.Amounts
			ok := o.ask.Amounts.FitsIn(n.Capacity)
			for i, a := range o.pods {
				if set>>i&1 == 0 {
					continue
				}
				gone = append(gone, a)
				if a.Node == n.ID {
					here.Add(a.Amounts)
				}
				ok = ok && o.mayBeVictim(a, short)
			}
			if ok && need.FitsIn(here) && o.freesQuota(o.ask, gone) && o.keepsFloors(gone) {
				yield(n, gone)
			}
		}
	}
}

// best is the least cost of any node and set of victims that makes room.
func (o oracle) best() (least guaranteeCost, node api.NodeID, found bool) {
	o.lawful(func(n *api.NodeView, gone []*api.Allocation) {
		if t := o.costOf(n, gone); !found || slices.Compare(t[:], least[:]) < 0 {
			least, node, found = t, n.ID, true
		}
	})
	return least, node, found
}

// need is what must be freed on a node beyond what comes free.
func (o oracle) need(n *api.NodeView) (need resources.Amounts) {
	for i, asked := range o.ask.Amounts {
		free := o.roomForAsk(n, o.ask).Plus(releasingOn(n)).Of(resources.Kind(i))
		if asked > 0 && asked > free {
			need.Set(resources.Kind(i), asked-free)
		}
	}
	return need
}

// smallConfig has queues with guarantees, of which asks make use, or with nothing
// at all, where their priority counts.
func smallConfig(c chance, options api.Options, guaranteed bool) (api.Options, api.Config) {
	some := func(least, most int) resources.Amounts {
		if !guaranteed || least == 0 && c.IntN(3) == 0 {
			return nil
		}
		return resources.Amounts{int64(least + c.IntN(most-least)), int64(least + c.IntN(most-least))}
	}
	properties := func() (p api.QueueProperties) {
		if guaranteed && c.IntN(4) == 0 {
			p.PriorityFence, p.PriorityOffset = c.IntN(2) == 0, int32(c.IntN(3))
			p.PreemptionPolicy = api.PreemptionPolicy(c.IntN(3))
		}
		return p
	}
	limit := func() resources.Limits {
		if !guaranteed || c.IntN(3) > 0 {
			return nil
		}
		return resources.Limits{int64(6 + c.IntN(6)), resources.Unlimited}
	}
	root := api.QueueConfig{Name: "root", Parent: true, Max: limit(), Queues: []api.QueueConfig{
		{Name: "a", Guaranteed: some(5, 18), Max: limit(), Properties: properties()},
		{Name: "b", Guaranteed: some(0, 5), Max: limit(), Properties: properties()},
		{Name: "p", Parent: true, Guaranteed: some(8, 20), Max: limit(), Properties: properties(), Queues: []api.QueueConfig{
			{Name: "c", Guaranteed: some(5, 14), Properties: properties()}, {Name: "d", Guaranteed: some(0, 5), Properties: properties()},
		}},
	}}
	config := api.Config{Name: "default", Root: root}
	if config.Preemption.Priority = api.PriorityOff; !guaranteed {
		config.Preemption.Priority = api.StrictlyLower
		config.Preemption.Budgets = preemptor.BudgetPolicy(c.IntN(3))
	}
	options.Kinds, options.ReserveDelay = testKinds(), -1
	return options, config
}

// smallCluster is three nodes with at most six allocations, and an ask.
func smallCluster(c chance) (running []api.Command, ask api.Command) {
	for i := range 3 {
		running = append(running, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{int64(3 + c.IntN(5)), int64(3 + c.IntN(6))}})
	}
	pod := func(key string, app int) *api.Allocation {
		return &api.Allocation{
			Key: api.AllocationKey(key), Application: api.ApplicationID(fmt.Sprint("app", app)),
			Amounts:  resources.Amounts{int64(1 + c.IntN(4)), int64(c.IntN(4))},
			Priority: int32(c.IntN(3)), Originator: c.IntN(5) == 0, Created: start.Add(-time.Duration(c.IntN(9)) * time.Second),
		}
	}
	for i := range 3 + c.IntN(4) {
		a := pod(fmt.Sprint("k", i), []int{0, 1, 1, 2, 3, 3}[c.IntN(6)])
		a.Node = api.NodeID(fmt.Sprint("n", c.IntN(3)))
		running = append(running, api.AddAllocation{Allocation: a})
	}
	a := pod("ask", 2*c.IntN(2))
	a.Priority, a.Amounts = int32(1+c.IntN(3)), resources.Amounts{int64(2 + c.IntN(4)), int64(c.IntN(5))}
	return running, api.AddAllocation{Allocation: a}
}

func smallApplications(p *core.Partition) {
	for i, queue := range []api.QueuePath{"root.a", "root.b", "root.p.c", "root.p.d"} {
		p.Apply(start, api.AddApplication{ID: api.ApplicationID(fmt.Sprint("app", i)), Queue: queue})
	}
}

// smallWorld has a small cluster running and its ask waiting.
func smallWorld(c chance, p *core.Partition) oracle {
	smallApplications(p)
	running, ask := smallCluster(c)
	for _, command := range append(running, ask) {
		p.Apply(start, command)
	}
	return oracleOf(p)
}

// TestGuaranteesLikeTheOracle compares the victims of asks that are guaranteed to their
// queue, over nodes and quotas, with the best of all sets of victims.
func TestGuaranteesLikeTheOracle(t *testing.T) {
	count := map[string]int{}
	for seed := range seeds.Of(t, 8000) {
		c := rand.New(rand.NewPCG(seed, 3))
		p := core.NewPartition(smallConfig(c, api.Options{}, true))
		o := smallWorld(c, p)
		fx, _ := p.Schedule(start)
		actions, err := actionsOf(fx)
		assert.NilError(t, err)
		assert.NilError(t, p.VerifyAttempts(), "seed %d", seed)
		if len(actions) > 0 && actions[0].what == "place" {
			continue
		}
		least, node, found := o.best()
		if !found {
			assert.NilError(t, noneLeft(actions), "seed %d", seed)
			count["none"]++
			continue
		}
		assert.Equal(t, len(actions), 1, "seed %d: %s costs %v and nothing is done", seed, node, least)
		var gone []*api.Allocation
		for _, a := range o.pods {
			if slices.Contains(actions[0].victims, a.Key) {
				gone = append(gone, a)
			}
		}
		got, figures := o.costOf(o.nodes[actions[0].node], gone), 4
		if len(o.short(o.ask)) > 0 {
			figures = 3 // weights are in parts of all that might free quota
			count["quota"]++
		}
		assert.Assert(t, slices.Equal(got[:figures], least[:figures]), "seed %d: %v costs %v; on %s it could be %v", seed, actions, got, node, least)
		if got == least && figures == 4 {
			assert.Equal(t, actions[0].node, node, "seed %d", seed)
		}
		if len(gone) > 1 {
			count["several"]++
		} else {
			count["one or none"]++
		}
	}
	t.Log(count)
	assert.Assert(t, count["none"] > seeds.Part(t, 1000) && count["quota"] > seeds.Part(t, 300) && count["one or none"] > seeds.Part(t, 400) && count["several"] > seeds.Part(t, 200))
}
