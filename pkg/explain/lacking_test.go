package explain_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestWhyNothingIsEvicted plays random clusters with guarantees. Where it is said that an ask would use more
// than is guaranteed, no attempt was made by guarantee; where it is not, one was, and failed or made
// room.
func TestWhyNothingIsEvicted(t *testing.T) {
	said := map[string]int{}
	for seed := range uint64(300) {
		chance := rand.New(rand.NewPCG(seed, 5))
		some := func(most int64) resources.Amounts { return resources.Amounts{chance.Int64N(most), chance.Int64N(most)} }
		properties := api.QueueProperties{GuaranteePerKind: chance.IntN(2) == 0}
		c := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
			{Name: "a", Parent: true, Guaranteed: some(9), Queues: []api.QueueConfig{
				{Name: "b", Guaranteed: some(9), Properties: properties}, {Name: "c", Properties: properties},
			}},
			{Name: "d", Guaranteed: some(6)},
		}}}, api.Options{ReserveDelay: -1})
		for _, leaf := range []string{"a.b", "a.c", "d"} {
			c.Apply(start, api.AddApplication{ID: api.ApplicationID(leaf), Queue: api.QueuePath("root." + leaf)})
		}
		for i := range 3 {
			c.node(fmt.Sprintf("n%d", i), 8, 8)
		}
		for i := range 20 {
			c.ask([]string{"a.b", "a.c", "d", "d"}[chance.IntN(4)], fmt.Sprintf("k%02d", i), chance.Int64N(5), 1+chance.Int64N(4))
			c.settle(start.Add(time.Duration(i) * time.Second))
		}
		view := c.View()
		for _, app := range view.Applications {
			for _, ask := range app.Asks {
				a, err := explain.Ask(view, c.kinds, app.ID, ask.Key)
				assert.NilError(t, err)
				if len(a.Lack.Queues) == 0 || ask.Reason != api.NoNodeFits && ask.Reason != api.RoomIsMade {
					continue
				}
				tried := false
				for _, attempt := range ask.Attempts {
					tried = tried || attempt.Trigger == preemptor.Guarantee
				}
				why, _, _ := strings.Cut(a.Lack.NoEviction, " ")
				said[why]++
				assert.Equal(t, tried, why != "with", "seed %d: %s\n%+v", seed, a.Text(), ask.Attempts)
			}
		}
	}
	assert.Assert(t, said["with"] > 100 && said["at"] > 50 && said[""] > 20, "%v", said)
}

// TestLacking: what the queues of an ask lack of what is guaranteed to them, of the kinds that
// it asks for, and for which of several reasons nothing is evicted for that.
func TestLacking(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*api.Config, *api.Allocation)
		want   string
	}{
		{"it would use more", nil, "with it queue root.a would use vcore=7, where vcore=5 is guaranteed"},
		{"it evicts nothing", func(_ *api.Config, a *api.Allocation) { a.Preemptable.Stated = true }, "it says that nothing is to be evicted for it"},
		{"preemption is off", func(c *api.Config, _ *api.Allocation) { c.Preemption.Disabled = true }, "preemption is off"},
		{"it is young", func(c *api.Config, _ *api.Allocation) {
			c.Root.Queues[0].Properties.PreemptionDelay, c.Root.Queues[0].Guaranteed[0] = 2*time.Hour, 9
		}, "that may be from 2026-01-02T05:04:05Z on"},
		{"its user is at a limit", func(c *api.Config, _ *api.Allocation) {
			c.Root.Queues[0].Limits, c.Root.Queues[0].Guaranteed[0] = []api.Limit{{Users: []string{"*"}, Max: resources.Limits{6}}}, 9
		}, "it does not wait for room"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "a", Guaranteed: resources.Amounts{5, 8}}, {Name: "b"}}}}
			ask := &api.Allocation{Application: "a", Key: "waits", Created: start, Amounts: resources.Amounts{1, 6}}
			if c.change != nil {
				c.change(&config, ask)
			}
			p := newCluster(t, config, api.Options{})
			p.node("n", 8, 8)
			p.ask("a", "own", 6, 1, on("n"))
			p.ask("b", "other", 1, 3, on("n"))
			p.Apply(start, api.AddAllocation{Allocation: ask})
			p.settle(start)
			a := p.explain(t, "a", "waits")
			assert.Equal(t, len(a.Lack.Queues), 1)
			assert.Equal(t, a.Lack.Queues[0].Queue, api.QueuePath("root.a"))
			assert.Equal(t, a.Lack.Queues[0].Lacking.Of(1), int64(6))
			assert.Equal(t, a.Lack.NoEviction, c.want)
		})
	}
}

// TestWhyNothingIsEvictedForAGroup: what starts together counts as a whole, though each member alone is within what is guaranteed.
func TestWhyNothingIsEvictedForAGroup(t *testing.T) {
	config := twoQueues()
	config.Root.Queues[0].Guaranteed = resources.Amounts{5000}
	c := newCluster(t, config, api.Options{ReserveDelay: -1})
	c.node("n", 8000, 1<<30)
	c.ask("batch", "fills", 8000, 1, on("n"))
	for i := range 3 {
		c.ask("web", fmt.Sprintf("member-%d", i), 2000, 1, func(a *api.Allocation) {
			a.Tags = map[string]string{api.TagQuorum: "g", api.TagQuorumLeast: "3"}
		})
	}
	c.settle(start.Add(time.Minute))
	a := c.explain(t, "web", "member-0")
	assert.Equal(t, a.Reason, api.AwaitsGang)
	assert.Equal(t, a.Lack.NoEviction, "with its group queue root.web would use vcore=6000, where vcore=5000 is guaranteed")
}

// TestWhyNothingIsEvictedPerKind: a queue that counts each kind by itself lacks one of which it uses nothing, and nothing is evicted for it all
// the same: what nodes lack is another kind, of which it uses all that is guaranteed to it.
func TestWhyNothingIsEvictedPerKind(t *testing.T) {
	config := twoQueues()
	config.Root.Queues[0] = api.QueueConfig{Name: "web", Guaranteed: resources.Amounts{4000, 4}, Properties: api.QueueProperties{GuaranteePerKind: true}}
	c := newCluster(t, config, api.Options{ReserveDelay: -1})
	c.node("n", 8000, 8)
	c.ask("web", "own", 4000, 1, on("n"))
	c.ask("batch", "other", 4000, 1, on("n"))
	c.ask("web", "waits", 1000, 2)
	c.settle(start)
	c.settle(start.Add(time.Minute))
	a, err := explain.Ask(c.View(), c.kinds, "web", "waits")
	assert.NilError(t, err)
	assert.Assert(t, strings.HasSuffix(a.Lack.NoEviction,
		"nothing was found whose eviction would make room: n, the nearest, lacks vcore=1000, of which queue root.web would use vcore=5000, where vcore=4000 is guaranteed"), a.Text())
}
