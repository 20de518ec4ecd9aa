package explain_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// never is a refusal that holds whatever ends on the node.
type never struct{ error }

func (never) Unresolvable() bool { return true }

// An ask looks for room by evictions, and the resource manager says of some nodes that it
// may not run there whatever ends. Those are the nearest only if there are no others, and
// that is said then; and none of them is a remedy.
func TestNodesThatRefuseForGood(t *testing.T) {
	refused := map[api.NodeID]bool{"n1": true, "n2": true}
	asked := 0
	says := func(id api.NodeID) error {
		if asked++; refused[id] {
			return never{errors.New("no GPU of A100")}
		}
		return errors.New("a port is in use")
	}
	c := newCluster(t, twoQueues(), api.Options{
		Feasible:    func(_ api.AllocationKey, id api.NodeID, _ bool) error { return says(id) },
		Simulate:    func(_ api.AllocationKey, id api.NodeID, _, _ []api.AllocationKey) error { return says(id) },
		Constraints: func(api.AllocationKey) string { return "alike" },
	})
	for _, id := range []string{"n1", "n2", "n3"} {
		c.node(id, 4000, 1<<30)
	}
	for i, id := range []string{"n1", "n2", "n3"} {
		c.ask("batch", "low-"+id, 3000+100*int64(i), 1<<20, on(id))
	}
	c.ask("web", "first", 2000, 1<<20, priority(5))
	c.ask("web", "second", 2000, 1<<20, priority(5))
	c.settle(start)
	for _, key := range []api.AllocationKey{"first", "second"} {
		a := c.explain(t, "web", key)
		assert.Equal(t, len(a.Nodes), 1, a.Text())
		assert.Equal(t, a.Nodes[0].Nearest, api.NodeID("n3"), a.Text())
		assert.Assert(t, !strings.Contains(a.Remedies.Sentence(), "n1") && !strings.Contains(a.Remedies.Sentence(), "n2"), a.Remedies.Sentence())
	}

	c.Apply(start, api.RemoveNode{ID: "n3"})
	c.settle(start.Add(time.Minute))
	a := c.explain(t, "web", "second")
	assert.Assert(t, strings.Contains(a.Text(), "nearest is n1, lacks vcore=1000, and was refused by the resource manager: "), a.Text())
	assert.Equal(t, a.Remedies.Sentence(), "it runs if a node is added with memory=2097152 vcore=4000 free and the resource manager, which was not asked, accepts it there; that is room for 1 ask before it, too")

	// What was said holds until the node is updated, and not for another node in its place.
	before := c.View()
	c.Apply(start.Add(time.Minute), api.RemoveNode{ID: "n2"})
	c.node("n4", 4000, 1<<30)
	between := c.View()
	refused["n1"] = false
	c.Apply(start.Add(time.Minute), api.UpdateNode{ID: "n1", Attributes: map[string]string{"gpu": "A100"}})
	c.settle(start.Add(time.Minute))
	assert.DeepEqual(t, refusedForGood(before), []string{"first n1", "first n2", "second n1", "second n2"})
	assert.DeepEqual(t, refusedForGood(between), []string{"first n1", "second n1"})
	assert.Equal(t, len(refusedForGood(c.View())), 0)
}

// refusedForGood are the asks with the nodes that refuse them whatever ends there.
func refusedForGood(v *api.View) (list []string) {
	for _, app := range v.Applications {
		for _, ask := range app.Asks {
			for _, n := range v.Nodes {
				if ask.RefusedForGood(n) {
					list = append(list, string(ask.Key)+" "+string(n.ID))
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
