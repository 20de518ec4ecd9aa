package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// promisedAt is when evictions may begin for asks with a required node.
var promisedAt = start.Add(time.Minute)

// An adoptionLoad is a partition in which asks with a required node have room and quota on their
// way, each on its node, while the resource manager tells of allocations that run already.
type adoptionLoad struct {
	promised int
	max      bool // the queues of both have a max
	limited  bool // a limit holds for all users
	beyond   bool // the max of one queue of both, or the limit, is reached: each adoption takes quota of an ask
}

// quotaMax is the max of a queue that adoptions are to exceed.
const quotaMax = 1 << 20

func (l adoptionLoad) build(tb testing.TB) *core.Partition {
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "agents"}, {Name: "pods"}}}
	if l.max {
		for i := range root.Queues {
			root.Queues[i].Max = resources.Limits{1 << 40}
		}
	}
	if l.limited {
		root.Limits = []api.Limit{{Users: []string{"*"}, Max: resources.Limits{1 << 40}}}
	}
	pods := api.QueuePath("root.pods")
	switch {
	case l.beyond && l.limited:
		root.Limits[0].Max = resources.Limits{quotaMax}
	case l.beyond:
		root.Queues[0].Max, pods = resources.Limits{quotaMax}, "root.agents"
	}
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{Name: "default", Root: root})
	p.Apply(start, api.AddApplication{ID: "agents", Queue: "root.agents"})
	p.Apply(start, api.AddApplication{ID: "pods", Queue: pods})
	for i := range 2000 {
		id := api.NodeID(fmt.Sprintf("n%06d", i))
		p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{2}})
		runs := ask("pods", fmt.Sprintf("runs-%06d", i), 2)
		runs.Allocation.Node = id
		p.Apply(start, runs)
	}
	p.Apply(start, api.AddNode{ID: "spare", Capacity: resources.Amounts{1 << 40}})
	for i := range l.promised {
		agent := ask("agents", fmt.Sprintf("agent-%06d", i), 1)
		agent.Allocation.Required, agent.Allocation.Priority = api.NodeID(fmt.Sprintf("n%06d", i)), 10
		p.Apply(start, agent)
	}
	for _, now := range []time.Time{start, promisedAt} {
		for more := true; more; {
			_, more = p.Schedule(now)
		}
	}
	victims := 0
	for _, n := range p.View().Nodes {
		victims += len(n.Evictions)
	}
	assert.Equal(tb, victims, l.promised)
	switch kept := int64(l.promised); { // all is used now, with what is kept and, of a queue, without what ends
	case l.beyond && l.limited:
		adoptOf(p, "rest", quotaMax-2*2000-kept)
	case l.beyond:
		adoptOf(p, "rest", quotaMax-2*2000+2*kept-kept)
	}
	return p
}

// adopt has an allocation that runs become known, and react. The ask that loses its quota by that, the
// last in order, goes: those that wait for quota are tried again when any is given up.
func (l adoptionLoad) adopt(p *core.Partition, i int) {
	if adoptOf(p, fmt.Sprintf("adopted-%08d", i), 1); l.beyond && i < l.promised {
		p.Apply(promisedAt, api.ReleaseAllocation{Application: "agents", Key: api.AllocationKey(fmt.Sprintf("agent-%06d", l.promised-1-i))})
	}
}

func adoptOf(p *core.Partition, key string, amount int64) {
	runs := ask("pods", key, amount)
	runs.Allocation.Node = "spare"
	p.Apply(promisedAt, runs)
	for more := true; more; {
		_, more = p.Schedule(promisedAt)
	}
}

// adoptionLoads are what may hold asks back beside the promised ones.
var adoptionLoads = []struct {
	name string
	adoptionLoad
}{
	{"no quota", adoptionLoad{}},
	{"max of queues", adoptionLoad{max: true}},
	{"limit of users", adoptionLoad{limited: true}},
	{"beyond a max", adoptionLoad{beyond: true}},
	{"beyond a limit", adoptionLoad{beyond: true, limited: true}},
}

// TestAnAdoptionCostsTheSameBesidePromises has allocations become known that run already, beside 10
// and 2,000 asks with a required node for which evictions are on their way: as much is looked at,
// tried and made.
func TestAnAdoptionCostsTheSameBesidePromises(t *testing.T) {
	for _, c := range adoptionLoads {
		t.Run(c.name, func(t *testing.T) {
			adoptions, few := 200, 10
			if c.beyond { // each takes the quota of one of the asks
				few = 250
			}
			cost := func(promised int) (work api.Work, bytes uint64) {
				c.promised = promised
				p := c.build(t)
				p.ForgetWork()
				before := made()
				for i := range adoptions {
					c.adopt(p, i)
				}
				bytes = (made() - before) / uint64(adoptions)
				assert.NilError(t, p.Verify())
				return p.View().Work, bytes
			}
			least, bytes := cost(few)
			many, more := cost(2000)
			t.Logf("%+v, %d and %d bytes made for each", many, bytes, more)
			assert.Assert(t, many.Nodes <= 2*least.Nodes)
			many.Nodes, least.Nodes = 0, 0 // they depend on the shape of a tree
			assert.Equal(t, many, least)
			assert.Assert(t, more <= 2*bytes)
		})
	}
}

// BenchmarkAdoption measures the same. A walk over all claims where there are limits would
// show here, which no count does.
//
//	go test -run - -bench Adoption -benchtime 5000x -cpu 1 ./pkg/core
func BenchmarkAdoption(b *testing.B) {
	for _, c := range adoptionLoads {
		for _, promised := range []int{10, 2000} {
			c.promised = promised
			b.Run(fmt.Sprintf("%s/promised=%d", c.name, promised), func(b *testing.B) {
				p := c.build(b)
				for i := 0; b.Loop(); i++ {
					c.adopt(p, i)
				}
			})
		}
	}
}
