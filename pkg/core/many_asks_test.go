package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// allRun asserts that all asks k0 to kn run.
func (c *manyAsks) allRun(n int) {
	c.t.Helper()
	missing, first := 0, ""
	for i := range n {
		if key := fmt.Sprint("k", i); c.where[api.AllocationKey(key)] == "" {
			if missing++; first == "" {
				first = key
			}
		}
	}
	if missing > 0 {
		c.t.Errorf("%d of %d wait, the first is %s, after %d questions", missing, n, first, c.questions)
	}
	if err := c.Verify(); err != nil {
		c.t.Error(err)
	}
}

// manyMore is more than any bound that there may be.
const manyMore = 5_000

// TestManySizes has many asks of different sizes wait for a full cluster, until
// room appears on many nodes at once.
func TestManySizes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	c := newManyAsks(t, api.Options{}, nil)
	for i := range manyMore {
		c.ask(api.AllocationKey(fmt.Sprint("k", i)), int64(10_001+i))
	}
	c.settle(10 * time.Second)
	for i := range manyMore {
		c.node(api.NodeID(fmt.Sprint("n", i)), 20_000)
	}
	c.settle(time.Second)
	c.allRun(manyMore)
}

// TestQuotaAfterRoom has room appear on many nodes while the queue is full, and
// quota freed much later.
func TestQuotaAfterRoom(t *testing.T) {
	for _, asks := range []func(api.AllocationKey) string{nil, func(api.AllocationKey) string { return "class" }} {
		c := newManyAsks(t, api.Options{Constraints: asks}, func(api.AllocationKey, api.NodeID, bool) error { return nil })
		c.limit(0)
		for i := range manyMore {
			c.ask(api.AllocationKey(fmt.Sprint("k", i)), int64(1000+i%700))
		}
		c.settle(10 * time.Second)
		for i := range manyMore {
			c.node(api.NodeID(fmt.Sprint("n", i)), 1800)
			if i%100 == 0 {
				c.settle(0)
			}
		}
		c.settle(time.Hour)
		c.apply(api.Reconfigure{Config: c.config(resources.Limits(nil))})
		c.settle(time.Second)
		c.allRun(manyMore)
	}
}

// TestRefusedFirst has the resource manager refuse many asks on many nodes and
// then agree to each on one node, after that node has changed, or silently.
func TestRefusedFirst(t *testing.T) {
	const many = 300
	for _, variant := range []string{"node", "silent", "paced", "several", "classes"} {
		t.Run(variant, func(t *testing.T) {
			agrees := false
			var c *manyAsks
			o := api.Options{}
			feasible := func(key api.AllocationKey, node api.NodeID, _ bool) error {
				if agrees && key[1:] == api.AllocationKey(node[1:]) {
					return nil
				}
				return errors.New("refused")
			}
			switch variant {
			case "paced":
				o.Pace = func(q api.Question) time.Duration { // a tenth of the time
					if second := c.now.Unix() % 10; q != api.FirstQuestion && second != 0 {
						return time.Unix(c.now.Unix()-second+10, 0).Sub(c.now)
					}
					return 0
				}
			case "several":
				o.FeasibleOn = func(key api.AllocationKey, nodes []api.NodeID, allocate bool) []error {
					answers := make([]error, len(nodes))
					for i, n := range nodes {
						answers[i] = feasible(key, n, allocate)
					}
					return answers
				}
			case "classes":
				o.Constraints = func(key api.AllocationKey) string { return string(key) }
			}
			c = newManyAsks(t, o, feasible)
			for i := range many {
				c.node(api.NodeID(fmt.Sprint("n", i)), 1000)
				c.ask(api.AllocationKey(fmt.Sprint("k", i)), 1000)
			}
			c.settle(20 * time.Second)
			agrees = true
			if variant == "node" {
				for i := range many {
					id := api.NodeID(fmt.Sprint("n", i))
					c.apply(api.DrainNode{ID: id})
					c.apply(api.UndrainNode{ID: id})
				}
				c.settle(10 * time.Second)
			} else {
				c.settle(75 * time.Second)
			}
			c.allRun(many)
		})
	}
}
