package explain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A cluster is a partition that a test fills.
type cluster struct {
	*core.Partition
	kinds *resources.Kinds
}

func newCluster(t testing.TB, config api.Config, options api.Options) *cluster {
	t.Helper()
	kinds := new(resources.Kinds)
	for _, name := range []string{resources.VCore, resources.Memory} {
		_, err := kinds.Intern(name)
		assert.NilError(t, err)
	}
	options.Kinds = kinds
	config.Name = "default"
	c := &cluster{core.NewPartition(options, config), kinds}
	for _, q := range config.Root.Queues {
		c.Apply(start, api.AddApplication{ID: api.ApplicationID(q.Name), Queue: api.QueuePath("root." + q.Name)})
	}
	return c
}

func (c *cluster) node(id string, vcore, memory int64) {
	c.Apply(start, api.AddNode{ID: api.NodeID(id), Capacity: resources.Amounts{vcore, memory}})
}

func (c *cluster) ask(app, key string, vcore, memory int64, change ...func(*api.Allocation)) {
	a := &api.Allocation{
		Application: api.ApplicationID(app), Key: api.AllocationKey(key), Created: start,
		Amounts: resources.Amounts{vcore, memory},
	}
	for _, f := range change {
		f(a)
	}
	c.Apply(start, api.AddAllocation{Allocation: a})
}

func on(node string) func(*api.Allocation) {
	return func(a *api.Allocation) { a.Node = api.NodeID(node) }
}

func priority(p int32) func(*api.Allocation) { return func(a *api.Allocation) { a.Priority = p } }

func (c *cluster) settle(at time.Time) {
	for more := true; more; {
		_, more = c.Schedule(at)
	}
}

func twoQueues() api.Config {
	return api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
		{Name: "web", Max: resources.Limits{9000}},
		{Name: "batch"},
	}}}
}

// TestText shows what people read: every node in one group, the quotas, the
// preemption attempts, the plan.
func TestText(t *testing.T) {
	c := newCluster(t, twoQueues(), api.Options{})
	for i, size := range []int64{1000, 4000, 4000, 4000, 4000} {
		c.node(fmt.Sprintf("n%d", i), size, 1<<30)
	}
	c.Apply(start, api.DrainNode{ID: "n4"})
	for i := 1; i <= 3; i++ {
		c.ask("web", fmt.Sprintf("web-%d", i), int64(1000*i), 1<<20, on(fmt.Sprintf("n%d", i)), priority(5))
	}
	c.ask("batch", "batch-1", 1000, 1<<20, on("n3"))
	c.ask("web", "waits", 4000, 1<<20, priority(5))
	c.ask("web", "first", 3500, 1<<20, priority(9), func(a *api.Allocation) { a.Preemptable.Stated = true })
	c.ask("batch", "takes", 3500, 1<<20, priority(7))
	c.settle(start)
	text := ""
	for _, key := range []api.AllocationKey{"waits", "first"} {
		text += c.explain(t, "web", key).Text() + "\n\n"
	}
	text += c.explain(t, "batch", "takes").Text() + "\n\n"
	text += c.explain(t, "web", "web-1").Text() + "\n\n"
	text += c.explain(t, "web", "web-3").Text() + "\n"
	golden.Assert(t, text, "text.golden")
}

func (c *cluster) explain(t testing.TB, app api.ApplicationID, key api.AllocationKey) *explain.Answer {
	t.Helper()
	a, err := explain.Ask(c.View(), c.kinds, app, key)
	assert.NilError(t, err)
	a.Try(t.Context(), explain.Trial{Now: start.Add(time.Hour)})
	return a
}

// TestTextSaysWhatAPlacementKeeps: a pod that can run anywhere leaves a node with a disk to those that need one.
func TestTextSaysWhatAPlacementKeeps(t *testing.T) {
	config := twoQueues()
	config.Nodes.Scarcity = true
	c := newCluster(t, config, api.Options{})
	c.Apply(start, api.AddNode{ID: "n1", Capacity: resources.Amounts{4000, 1 << 30}, Attributes: map[string]string{"disk": "ssd"}})
	c.Apply(start, api.AddNode{ID: "n2", Capacity: resources.Amounts{4000, 1 << 30}})
	c.ask("web", "data", 2000, 1<<20, on("n1"), func(a *api.Allocation) { a.Tags = map[string]string{api.TagNodeSelector: "disk=ssd"} })
	c.ask("web", "any", 1000, 1<<20)
	c.settle(start)
	assert.Equal(t, c.explain(t, "web", "any").Text(), `any of application web runs on node n2, in queue root.web
  holds     memory=1048576 vcore=1000, priority 0
  why there keeps vcore=2000 where disk=ssd for the 33 % of asks that need it`)
}

// After a start, what is told says when evictions may begin.
func TestTextWhileSettling(t *testing.T) {
	c := newCluster(t, twoQueues(), api.Options{SettleDelay: 5 * time.Second})
	c.node("n1", 4000, 1<<30)
	c.ask("web", "waits", 5000, 1<<20)
	c.settle(start)
	assert.Assert(t, cmp.Contains(c.explain(t, "web", "waits").Text(),
		"room      nothing is evicted before "+start.Add(5*time.Second).Format(time.RFC3339)+", since nodes and what runs there are still being reported"))
	c.settle(start.Add(5 * time.Second))
	assert.Assert(t, !strings.Contains(c.explain(t, "web", "waits").Text(), "before"))
}

// TestTextSaysWhatIsKept: an ask that waited long learns where what becomes free is kept for it.
func TestTextSaysWhatIsKept(t *testing.T) {
	const line = "  room      what becomes free on node n1 is kept for it; only a more important ask takes that"
	c := newCluster(t, twoQueues(), api.Options{ReserveDelay: time.Minute})
	c.node("n1", 4000, 1<<30)
	c.ask("batch", "one", 2000, 1<<20, on("n1"))
	c.ask("batch", "two", 2000, 1<<20, on("n1"))
	c.ask("web", "waits", 3000, 1<<20) // more than what any one of them leaves
	c.settle(start)
	assert.Assert(t, !strings.Contains(c.explain(t, "web", "waits").Text(), "is kept"))
	c.settle(start.Add(time.Minute))
	assert.Assert(t, cmp.Contains(c.explain(t, "web", "waits").Text(), line))
}

// TestUnknown names what is not there.
func TestUnknown(t *testing.T) {
	c := newCluster(t, twoQueues(), api.Options{})
	_, err := explain.Ask(c.View(), c.kinds, "none", "k")
	assert.Error(t, err, "application none is not known")
	assert.Assert(t, errors.Is(err, explain.ErrUnknown))
	_, err = explain.Ask(c.View(), c.kinds, "web", "k")
	assert.Error(t, err, "allocation k of application web is not known")
	assert.Assert(t, errors.Is(err, explain.ErrUnknown))
}

// BenchmarkAsk explains an ask that fits nowhere in a large cluster.
//
//	go test -run - -bench Ask ./pkg/explain
func BenchmarkAsk(b *testing.B) {
	c := newCluster(b, twoQueues(), api.Options{})
	for i := range 10_000 {
		c.node(fmt.Sprintf("n%05d", i), 4000, 1<<30)
		c.ask("batch", fmt.Sprintf("b%05d", i), 3000, 1<<20, on(fmt.Sprintf("n%05d", i)))
	}
	c.ask("web", "waits", 2000, 1<<20)
	c.settle(start)
	view := c.View()
	for b.Loop() {
		if _, err := explain.Ask(view, c.kinds, "web", "waits"); err != nil {
			b.Fatal(err)
		}
	}
}

// Nodes with room that the resource manager refused are told as such, one group for each reason,
// with their names; and it runs if one of them was accepted.
func TestRefusedNodes(t *testing.T) {
	says := map[api.NodeID]string{"n1": "taint a", "n2": "taint a", "n3": "taint b", "n4": "taint a", "n5": "taint a"}
	c := newCluster(t, twoQueues(), api.Options{Feasible: func(_ api.AllocationKey, node api.NodeID, _ bool) error {
		if text := says[node]; text != "" {
			return errors.New(text)
		}
		return nil
	}})
	for node := range says {
		c.node(string(node), 4000, 1<<30)
	}
	c.ask("web", "waits", 1000, 1<<20)
	c.settle(start)
	a := c.explain(t, "web", "waits")
	assert.DeepEqual(t, a.Nodes, []explain.Group{
		{Why: explain.Refused, Nodes: 4, Nearest: "n1", First: []api.NodeID{"n1", "n2", "n4"}, Text: "taint a"},
		{Why: explain.Refused, Nodes: 1, Nearest: "n3", First: []api.NodeID{"n3"}, Text: "taint b"},
	})
	assert.Equal(t, a.Remedies.Sentence(), "it runs if the resource manager accepts it on n1, n2, n4 or 1 more, or the resource manager accepts it on n3")

	// One of them is gone: of which it said what is not known any more.
	c.Apply(start, api.RemoveNode{ID: "n2"})
	c.settle(start)
	a = c.explain(t, "web", "waits")
	assert.DeepEqual(t, a.Nodes, []explain.Group{
		{Why: explain.Refused, Nodes: 4, Nearest: "n1", First: []api.NodeID{"n1", "n3", "n4"}, Text: "taint a; taint b"},
	})

	// A cordoned node with room, one with too little, and a quota.
	delete(says, "n3")
	c.Apply(start, api.DrainNode{ID: "n3"})
	for _, id := range []api.NodeID{"n1", "n4"} {
		c.Apply(start, api.RemoveNode{ID: id})
	}
	c.ask("batch", "busy", 3500, 1<<20, on("n5"))
	c.ask("web", "over", 9000, 1<<20, on("n5"))
	c.settle(start.Add(2 * time.Minute))
	a = c.explain(t, "web", "waits")
	assert.Equal(t, a.Remedies.Sentence(), "it runs if queue root.web uses vcore=1000 less, or its max is raised by that; and if "+
		"node n3 takes new allocations again and the resource manager, which was not asked, accepts it there, or "+
		"vcore=9500 more becomes free on n5 and the resource manager, which was not asked, accepts it there")
}

// TestOrderOfEqualAsks: asks of equal priority and age are tried as they arrived, and that is the order in which they are counted and
// are placed on a copy, wherever they stand in lists.
func TestOrderOfEqualAsks(t *testing.T) {
	c := newCluster(t, twoQueues(), api.Options{ReserveDelay: -1})
	c.ask("web", "gone", 1000, 1)
	for _, key := range []string{"c", "a", "d", "b"} {
		c.ask("web", key, 1000, 1)
	}
	c.Apply(start, api.ReleaseAllocation{Application: "web", Key: "gone"}) // the last one takes its place in the list
	c.settle(start)
	var line []api.AllocationKey
	explain.InLine(t.Context(), c.View(), c.kinds, start, func(next *api.Allocation) bool {
		line = append(line, next.Key)
		return true
	})
	assert.DeepEqual(t, line, []api.AllocationKey{"c", "a", "d", "b"})
	for before, key := range line {
		assert.Equal(t, c.explain(t, "web", key).Before, before)
	}
}
