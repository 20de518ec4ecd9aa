package explain_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestTheReasonsAreWhole plays random clusters: every node is in exactly one
// group, and an ask for which a node has room and every queue has quota does not
// wait.
func TestTheReasonsAreWhole(t *testing.T) {
	var met [explain.HasRoom + 1]int
	for seed := range uint64(400) {
		chance := rand.New(rand.NewPCG(seed, 3))
		config := core.Config{Root: core.QueueConfig{Name: "root", Parent: true, Queues: []core.QueueConfig{
			{Name: "a", Max: resources.Limits{int64(4 + chance.IntN(30))}}, {Name: "b"},
		}}}
		c := newCluster(t, config, core.Options{ReserveDelay: time.Second})
		for i := range 6 {
			c.node(fmt.Sprintf("n%d", i), int64(chance.IntN(9)), int64(2+chance.IntN(8)))
		}
		for i := range 30 {
			c.ask([]string{"a", "b"}[chance.IntN(2)], fmt.Sprintf("k%02d", i), int64(1+chance.IntN(4)), int64(chance.IntN(4)), func(a *core.Allocation) {
				a.Created = start.Add(time.Duration(i) * time.Second)
				a.Priority = int32(chance.IntN(3))
				if chance.IntN(8) == 0 {
					a.Required = core.NodeID(fmt.Sprintf("n%d", chance.IntN(6)))
				}
			})
			if chance.IntN(6) == 0 {
				c.Apply(start, core.DrainNode{ID: core.NodeID(fmt.Sprintf("n%d", chance.IntN(6)))})
			}
			if chance.IntN(3) == 0 {
				c.settle(start.Add(time.Duration(i) * time.Second))
			}
		}
		c.settle(start.Add(time.Minute))
		c.check(t, seed, met[:])
	}
	for why, count := range met[:explain.HasRoom] {
		assert.Assert(t, count > 0, "no ask waits because a node %s", explain.Why(why))
	}
}

func (c *cluster) check(t *testing.T, seed uint64, met []int) {
	t.Helper()
	view := c.View()
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			a, err := explain.Ask(view, c.kinds, app.ID, ask.Key)
			assert.NilError(t, err)
			nodes, room := 0, false
			for _, g := range a.Nodes {
				nodes += g.Nodes
				met[g.Why] += g.Nodes
				room = room || g.Why == explain.HasRoom
			}
			assert.Equal(t, nodes, len(view.Nodes))
			for _, l := range a.Quota {
				room = room && l.Lacking.IsZero()
			}
			assert.Assert(t, !room, "seed %d: %s", seed, a.Text())
		}
	}
}
