package core_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// shown is what a resource manager was shown when it was asked which nodes suit an ask best.
type shown struct {
	nodes  []api.NodeID
	points []int64
	most   int
}

// chooser is a partition of eight nodes of 80, the later ones fuller, with a resource manager that prefers some.
type chooser struct {
	p      *core.Partition
	asked  []shown
	best   func(nodes []api.NodeID) []api.NodeID
	allows func(api.NodeID) bool
}

func newChooser(order api.NodeOrder, several bool) *chooser {
	c := &chooser{allows: func(api.NodeID) bool { return true }}
	feasible := func(_ api.AllocationKey, n api.NodeID, _ bool) error {
		if !c.allows(n) {
			return errors.New("refused")
		}
		return nil
	}
	options := api.Options{
		Kinds: testKinds(), Constraints: func(api.AllocationKey) string { return "alike" }, Feasible: feasible,
		Best: func(_ api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) []api.NodeID {
			var s shown
			for n, points := range nodes {
				s.nodes, s.points = append(s.nodes, n), append(s.points, points)
			}
			s.most = most
			c.asked = append(c.asked, s)
			best := c.best(slices.Clone(s.nodes))
			return best[:min(most, len(best))]
		},
	}
	if several {
		options.FeasibleOn = func(key api.AllocationKey, nodes []api.NodeID, allocate bool) (answers []error) {
			for _, n := range nodes {
				answers = append(answers, feasible(key, n, allocate))
			}
			return answers
		}
	}
	c.p = core.NewPartition(options, api.Config{
		Name: "default", Nodes: order, Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}},
	})
	c.p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range 8 {
		id := api.NodeID(fmt.Sprint("n", i))
		c.p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{80}})
		if i > 0 {
			old := ask("a", fmt.Sprint("r", i), int64(10*i))
			old.Allocation.Node = id
			c.p.Apply(start, old)
		}
	}
	return c
}

// place places an ask, and says where; nowhere if it waits.
func (c *chooser) place(t *testing.T, key string, amount int64) (on api.NodeID) {
	t.Helper()
	c.p.Apply(start, ask("a", key, amount))
	fx, _ := c.p.Schedule(start)
	for _, e := range fx {
		if placed, is := e.(api.Placed); is {
			on = placed.Node
		}
	}
	assert.NilError(t, c.p.Verify())
	return on
}

func backwards(nodes []api.NodeID) []api.NodeID {
	slices.Reverse(nodes)
	return nodes
}

// The resource manager is shown the nodes that have room, in order, and how well each suits that order; its
// choice is tried first.
func TestBestNodeIsTriedFirst(t *testing.T) {
	c := newChooser(api.NodeOrder{}, false)
	c.best = backwards
	assert.Equal(t, c.place(t, "x", 40), api.NodeID("n4"))
	assert.DeepEqual(t, c.asked, []shown{{[]api.NodeID{"n0", "n1", "n2", "n3", "n4"}, []int64{100, 88, 75, 63, 50}, 1}}, cmp.AllowUnexported(shown{}))

	c = newChooser(api.NodeOrder{Packing: true}, false)
	c.best = backwards
	assert.Equal(t, c.place(t, "x", 60), api.NodeID("n0"))
	assert.DeepEqual(t, c.asked, []shown{{[]api.NodeID{"n2", "n1", "n0"}, []int64{25, 13, 0}, 1}}, cmp.AllowUnexported(shown{}))
}

// Where nodes are tried by their devices, the one where least is wasted suits that order best.
func TestBestAmongNodesWithDevices(t *testing.T) {
	c := newChooser(api.NodeOrder{Devices: map[string]int64{resources.VCore: 10}}, false)
	c.best = backwards
	assert.Equal(t, c.place(t, "x", 60), api.NodeID("n0"))
	assert.DeepEqual(t, c.asked, []shown{{[]api.NodeID{"n2", "n1", "n0"}, []int64{100, 67, 34}, 1}}, cmp.AllowUnexported(shown{}))
}

// While its choices are refused, the resource manager is asked for more each time, and is not shown what was
// refused. In the end the order of nodes decides.
func TestRefusedChoicesAreFollowedByOthers(t *testing.T) {
	for _, several := range []bool{false, true} {
		c := newChooser(api.NodeOrder{}, several)
		c.best = backwards
		c.allows = func(n api.NodeID) bool { return n == "n1" }
		assert.Equal(t, c.place(t, "x", 10), api.NodeID("n1"))
		assert.Equal(t, len(c.asked), 3, "one, four, and the rest")
		assert.DeepEqual(t, c.asked[1].nodes, []api.NodeID{"n0", "n1", "n2", "n3", "n4", "n5", "n6"})
		assert.DeepEqual(t, c.asked[2].nodes, []api.NodeID{"n0", "n1", "n2"})
		assert.Equal(t, c.asked[2].most, 16)

		c.best, c.asked = func([]api.NodeID) []api.NodeID { return nil }, nil
		assert.Equal(t, c.place(t, "y", 10), api.NodeID("n1"))
		assert.Equal(t, len(c.asked), 1)
	}
}

// A choice that was not among those shown is left out: what has no room, is refused, or is not known.
func TestChoicesThatMakeNoSense(t *testing.T) {
	c := newChooser(api.NodeOrder{}, false)
	c.best = func([]api.NodeID) []api.NodeID { return []api.NodeID{"unknown"} }
	assert.Equal(t, c.place(t, "x", 40), api.NodeID("n0"))
	c.best = func([]api.NodeID) []api.NodeID { return []api.NodeID{"n7"} }
	assert.Equal(t, c.place(t, "y", 40), api.NodeID("n1"))
	c.allows = func(n api.NodeID) bool { return n != "n0" }
	c.best = func([]api.NodeID) []api.NodeID { return []api.NodeID{"n0"} }
	assert.Equal(t, c.place(t, "z", 20), api.NodeID("n2"))
	assert.Equal(t, len(c.asked), 4, "once more after the refusal")
	c.p.Apply(start, api.DrainNode{ID: "n3"})
	c.best = func([]api.NodeID) []api.NodeID { return []api.NodeID{"n3"} }
	assert.Equal(t, c.place(t, "closed", 20), api.NodeID("n2"))
}

// A node where binding has failed is shown to no resource manager, and is tried last.
func TestBestLeavesOutWhereBindingFailed(t *testing.T) {
	c := newChooser(api.NodeOrder{}, false)
	c.best = func(nodes []api.NodeID) []api.NodeID { return nodes }
	assert.Equal(t, c.place(t, "x", 50), api.NodeID("n0"))
	c.asked = nil
	c.p.Apply(start, api.ReleaseAllocation{Application: "a", Key: "x", Termination: api.SchedulingFailed})
	later := start.Add(5e9)
	fx, _ := c.p.Schedule(later)
	assert.Assert(t, len(fx) > 0)
	assert.DeepEqual(t, c.asked[0].nodes, []api.NodeID{"n1", "n2", "n3"})
}

// BenchmarkBest measures what a placement costs where the resource manager is shown all of 5,000 nodes, in each order. A quarter of them
// has what every second ask needs.
//
//	go test -run - -bench Best -benchtime 5x ./pkg/core
func BenchmarkBest(b *testing.B) {
	const nodes, asks = 5000, 100
	for _, row := range []struct {
		name  string
		order api.NodeOrder
	}{
		{"fair", api.NodeOrder{}},
		{"devices", api.NodeOrder{Devices: map[string]int64{resources.Memory: 1 << 30}}},
		{"scarcity", api.NodeOrder{Scarcity: true}},
	} {
		b.Run(row.name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p := cluster(0, 0, api.Options{
					Feasible: func(api.AllocationKey, api.NodeID, bool) error { return nil },
					Best: func(_ api.AllocationKey, shown iter.Seq2[api.NodeID, int64], _ int) (best []api.NodeID) {
						for n := range shown {
							best = append(best[:0], n)
						}
						return best
					},
				})
				p.Apply(start, api.Reconfigure{Config: api.Config{Name: "default", Nodes: row.order, Root: api.QueueConfig{
					Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}},
				}}})
				for i := range nodes {
					p.Apply(start, api.AddNode{
						ID: api.NodeID(fmt.Sprintf("n%04d", i)), Capacity: resources.Amounts{16000, 64 << 30, 110},
						Attributes: map[string]string{"zone": string(rune('a' + i%4))},
					})
				}
				p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
				for i := range asks {
					a := ask("a", fmt.Sprintf("pod-%03d", i), 100, 128<<20, 1)
					if i%2 == 0 {
						a.Allocation.Tags = map[string]string{api.TagNodeSelector: "zone=a"}
					}
					p.Apply(start, a)
				}
				b.StartTimer()
				if placed := run(p); placed != asks {
					b.Fatalf("%d of %d placed", placed, asks)
				}
			}
		})
	}
}
