package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// manyAsks is a partition with one leaf queue and one application.
type manyAsks struct {
	*core.Partition
	t         *testing.T
	kinds     *resources.Kinds
	now       time.Time
	where     map[api.AllocationKey]api.NodeID
	questions int
}

func newManyAsks(t *testing.T, o api.Options, feasible api.Feasible) *manyAsks {
	c := &manyAsks{t: t, kinds: new(resources.Kinds), now: time.Unix(1000, 0), where: map[api.AllocationKey]api.NodeID{}}
	o.Kinds, o.ReserveDelay = c.kinds, -1
	if feasible != nil {
		o.Feasible = func(key api.AllocationKey, node api.NodeID, allocate bool) error {
			c.questions++
			return feasible(key, node, allocate)
		}
	}
	c.Partition = core.NewPartition(o, c.config(nil))
	c.apply(api.AddApplication{ID: "a", Queue: "root.q"})
	return c
}

func (c *manyAsks) config(most resources.Limits) api.Config {
	leaf := api.QueueConfig{Name: "q", Max: most}
	return api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{leaf}}}
}

func (c *manyAsks) limit(vcore int64) {
	limits, _ := c.kinds.Limits(map[string]int64{"vcore": vcore})
	c.apply(api.Reconfigure{Config: c.config(limits)})
}

func (c *manyAsks) apply(command api.Command) { c.see(c.Apply(c.now, command)) }

func (c *manyAsks) see(fx api.Effects) {
	for _, e := range fx {
		if e, ok := e.(api.Placed); ok {
			c.where[e.Key] = e.Node
		}
	}
}

func (c *manyAsks) vcore(milli int64) resources.Amounts {
	a, err := c.kinds.Amounts(map[string]int64{"vcore": milli})
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c *manyAsks) node(id api.NodeID, vcore int64) {
	c.apply(api.AddNode{ID: id, Capacity: c.vcore(vcore)})
}

func (c *manyAsks) ask(key api.AllocationKey, vcore int64) {
	c.apply(api.AddAllocation{Allocation: &api.Allocation{Key: key, Application: "a", Amounts: c.vcore(vcore), Created: c.now}})
}

// settle calls Schedule when it is due, for a while.
func (c *manyAsks) settle(during time.Duration) {
	c.t.Helper()
	for end, calls := c.now.Add(during), 0; ; calls++ {
		fx, more := c.Schedule(c.now)
		c.see(fx)
		if calls > 1_000 {
			c.t.Fatalf("Schedule is called for ever at %v, more %v, after %d questions", c.now.Unix(), more, c.questions)
		}
		if more {
			continue
		}
		due, ok := c.Due()
		if !ok || due.After(end) {
			c.now = end
			return
		}
		if due.After(c.now) {
			c.now = due
		}
	}
}

func (c *manyAsks) runs(key api.AllocationKey, on api.NodeID) {
	c.t.Helper()
	if c.where[key] != on {
		c.t.Errorf("%s runs on %q, should on %q, after %d questions", key, c.where[key], on, c.questions)
	}
	if err := c.Verify(); err != nil {
		c.t.Error(err)
	}
}

// TestQuestionsGoOn has nodes come after the first refusal of a class, of which
// an ask waits for quota. The questions about them are broken off, by the bound of a batch and by Pace, and have to
// go on where they were broken off, not to begin anew.
func TestQuestionsGoOn(t *testing.T) {
	for _, paced := range []bool{false, true} {
		nodes, asked := 6_000, 0
		var c *manyAsks
		o := api.Options{Constraints: func(api.AllocationKey) string { return "class" }}
		if paced {
			nodes = 60
			var second time.Time
			o.Pace = func(api.Question) time.Duration {
				if !c.now.Equal(second) {
					second, asked = c.now, 0
				}
				if asked < 20 {
					return 0
				}
				return time.Second
			}
		}
		c = newManyAsks(t, o, func(_ api.AllocationKey, node api.NodeID, _ bool) error {
			asked++
			if node == "b" || node == "n9999" {
				return nil
			}
			return errors.New("refused")
		})
		c.node("a", 2000)
		c.node("b", 1000)
		c.limit(1000)
		c.ask("first", 1000)
		c.ask("second", 1000)
		c.settle(time.Second)
		c.runs("first", "b")
		for i := range nodes {
			c.node(api.NodeID(fmt.Sprintf("n%d", 1000+i)), 2000)
		}
		c.node("n9999", 2000)
		c.limit(2000)
		before := c.questions
		c.settle(10 * time.Second)
		c.runs("second", "n9999")
		if more := c.questions - before; more > nodes+2 {
			t.Errorf("%d nodes: %d questions", nodes, more)
		}
	}
}
