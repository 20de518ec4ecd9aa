package topology

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A cluster is a ledger of nodes with a topology that hears of each change.
type cluster struct {
	ledger.Ledger
	*Topology
}

func newCluster(lists ...[]string) *cluster {
	c := &cluster{Ledger: ledger.NewLedger(api.Options{Kinds: new(resources.Kinds)})}
	c.Topology = New(c.AllNodes, used)
	c.Topology.Configure(lists)
	return c
}

// used is what is used of a node, of the first kind.
func used(n *ledger.Node) int64 { return n.Capacity.Of(0) - n.Free.Of(0) }

// labels reads pairs such as "block=b1 rack=r2".
func labels(text string) map[string]string {
	all := map[string]string{}
	for _, pair := range strings.Fields(text) {
		key, value, _ := strings.Cut(pair, "=")
		all[key] = value
	}
	return all
}

func (c *cluster) add(id, attributes string, capacity int64) *ledger.Node {
	n := c.AddNode(api.AddNode{ID: api.NodeID(id), Attributes: labels(attributes), Capacity: resources.Amounts{capacity}})
	c.update(n)
	return n
}

func (c *cluster) relabel(n *ledger.Node, attributes string) {
	c.SetAttributes(n, labels(attributes))
	c.update(n)
}

// update takes in that a command has changed a node.
func (c *cluster) update(n *ledger.Node) {
	c.NodesUpdated++
	if n.UpdatedAt = c.NodesUpdated; c.Active {
		c.Change(n, used(n))
	}
}

func (c *cluster) remove(n *ledger.Node) {
	c.RemoveNode(n)
	c.Change(n, 0)
}

func (c *cluster) verify(t *testing.T) {
	t.Helper()
	v := laws.Check{Partition: "test"}
	c.Topology.Verify(&v)
	assert.NilError(t, v.Err)
}

// names are the domains of a level, each with what fits there.
func (c *cluster) names(key string, asks int64) string {
	var out []string
	slots := c.Slots(resources.Amounts{asks}, 0)
	for d := range c.Level(key).Domains {
		out = append(out, fmt.Sprintf("%s:%d", d.Name, slots.In(d)))
	}
	return strings.Join(out, " ")
}

func TestDomainsArePaths(t *testing.T) {
	c := newCluster([]string{"block", "rack"})
	c.add("n1", "block=b1 rack=r1", 4)
	c.add("n2", "block=b1 rack=r2", 4)
	c.add("n3", "block=b2 rack=r1", 4)
	c.add("n4", "rack=r1", 4)  // in no block, and so in no rack of one
	c.add("n5", "block=b2", 4) // in no rack
	assert.Equal(t, c.names("block", 1), "b1:8 b2:8")
	assert.Equal(t, c.names("rack", 1), "b1/r1:4 b1/r2:4 b2/r1:4", "equal values in two blocks are two domains")
	c.verify(t)
}

func TestAKeyInNoListIsALevel(t *testing.T) {
	c := newCluster([]string{"block", "rack"})
	c.add("n1", "block=b1 zone=z1", 4)
	c.add("n2", "block=b2 zone=z1", 4)
	c.add("n3", "block=b2", 4)
	assert.Equal(t, c.names("zone", 1), "z1:8", "the value alone counts")
	assert.Equal(t, c.names("row", 1), "")
	c.verify(t)
}

// Each key of a path divides the domains of the one before it. Where a list has them in that order they are its levels; others are made, with what stands above a key
// in its own list. One that stands above what it is to divide divides nothing.
func TestKeysOfAPathDivideEachOther(t *testing.T) {
	c := newCluster([]string{"block", "rack"}, []string{"power"})
	c.add("n1", "block=b1 rack=r1 power=p1 row=1", 1)
	c.add("n2", "block=b1 rack=r2 power=p1 row=1", 1)
	c.add("n3", "block=b2 rack=r1 power=p1 row=2", 1)
	c.add("n4", "block=b2 rack=r1 power=p2 row=2", 1)
	c.add("n5", "power=p2 row=2", 1)
	for path, want := range map[string]string{
		"block":          "b1 b2",
		"block rack":     "b1/r1 b1/r2 b2/r1",
		"rack block":     "b1/r1 b1/r2 b2/r1",
		"rack rack":      "b1/r1 b1/r2 b2/r1",
		"power rack":     "p1/b1/r1 p1/b1/r2 p1/b2/r1 p2/b2/r1",
		"power block":    "p1/b1 p1/b2 p2/b2",
		"row power":      "1/p1 2/p1 2/p2",
		"block row rack": "b1/1/r1 b1/1/r2 b2/2/r1",
		"none rack":      "",
	} {
		levels := c.Levels(strings.Fields(path))[0]
		var names []string
		for d := range levels[len(levels)-1].Domains {
			names = append(names, d.Name)
		}
		assert.Equal(t, strings.Join(names, " "), want, path)
		for d := range levels[0].Domains { // what is in each of the first
			for in := range levels[len(levels)-1].DomainsIn(d) {
				assert.Assert(t, strings.HasPrefix(in.Name+"/", d.Name+"/"), "%s: %s in %s", path, in.Name, d.Name)
				assert.Assert(t, levels[len(levels)-1].IsIn(in, d))
				names = names[1:]
			}
		}
		assert.Equal(t, len(names), 0, path)
	}
	c.verify(t)
}

// Levels that are asked for at once hold together, however many trees of keys in no list there are.
func TestLevelsHoldTogether(t *testing.T) {
	c := newCluster([]string{"rack"})
	attributes := "rack=r1"
	for i := range 3 * extraMax {
		attributes += fmt.Sprintf(" key-%d=v", i)
	}
	c.add("n1", attributes, 1)
	for i := range extraMax {
		c.Level(fmt.Sprint("key-", i))
		for _, l := range c.Levels([]string{fmt.Sprint("key-", extraMax+i)}, []string{"rack", fmt.Sprint("key-", 2*extraMax+i)}) {
			count := 0
			for range l[len(l)-1].Domains {
				count++
			}
			assert.Equal(t, count, 1)
		}
	}
	assert.Assert(t, len(c.trees) <= 1+extraMax)
	c.verify(t)
}

func TestKeysOfNoListAreDroppedAndMadeAgain(t *testing.T) {
	c := newCluster([]string{"rack"})
	for i := range extraMax + 2 {
		c.add(fmt.Sprint("n", i), fmt.Sprintf("rack=r1 key-%d=v", i), 1)
	}
	for range 2 {
		for i := range extraMax + 2 {
			assert.Equal(t, c.names(fmt.Sprint("key-", i), 1), "v:1")
		}
		assert.Assert(t, len(c.trees) <= 1+extraMax)
		c.verify(t)
	}
}

func TestLabelsChange(t *testing.T) {
	c := newCluster([]string{"block", "rack"})
	n := c.add("n1", "block=b1 rack=r1", 4)
	c.add("n2", "block=b1 rack=r2", 4)
	assert.Equal(t, c.names("rack", 2), "b1/r1:2 b1/r2:2")
	c.relabel(n, "block=b1 rack=r2")
	assert.Equal(t, c.names("rack", 2), "b1/r2:4", "a domain without nodes is gone")
	c.relabel(n, "rack=r2")
	assert.Equal(t, c.names("rack", 2), "b1/r2:2")
	c.relabel(n, "block=b2 rack=r2")
	assert.Equal(t, c.names("rack", 2), "b1/r2:2 b2/r2:2")
	c.remove(n)
	assert.Equal(t, c.names("block", 2), "b1:2")
	c.verify(t)
}

func TestUse(t *testing.T) {
	c := newCluster([]string{"block", "rack"})
	n := c.add("n1", "block=b1 rack=r1", 8)
	c.add("n2", "block=b1 rack=r1", 8)
	rack := c.Level("rack").Of(n)
	assert.Equal(t, rack.Busy, 0)
	assert.Equal(t, c.Finest(n), rack)

	agent := &ledger.Request{Allocation: &api.Allocation{Required: "n1"}}
	n.Own, n.Free = []*ledger.Request{agent}, resources.Amounts{6}
	c.Change(n, used(n))
	assert.Equal(t, rack.Used(), int64(1), "2 of 8, and 0 of 8")
	assert.Equal(t, rack.Busy, 0, "what belongs to one node leaves a domain whole")
	n.Own = append(n.Own, &ledger.Request{Allocation: &api.Allocation{}})
	c.Change(n, used(n))
	assert.Equal(t, rack.Parent.Busy, 1)
	c.SetSchedulable(n, false)
	c.Change(n, used(n))
	assert.Equal(t, rack.Used(), int64(0), "a closed node takes nothing")
	assert.Equal(t, c.names("rack", 1), "b1/r1:8")
	c.verify(t)
}

func TestNothingIsKnownUntilItIsAskedFor(t *testing.T) {
	c := newCluster()
	n := c.add("n1", "rack=r1", 4)
	assert.Assert(t, !c.Active)
	assert.Equal(t, c.Slots(resources.Amounts{1}, 0).All(), int64(4))
	assert.Assert(t, c.Active)
	n.Free = resources.Amounts{3}
	n.Room = n.Free
	c.Change(n, used(n))
	assert.Equal(t, c.Slots(resources.Amounts{1}, 0).All(), int64(3))
	c.verify(t)
}

// TestHistories plays random changes, and compares all sums with those of a naive twin after each.
func TestHistories(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := newCluster([]string{"block", "rack"}, []string{"power"})
		var nodes []*ledger.Node
		label := func() string {
			var pairs []string
			for _, key := range []string{"block", "rack", "power", "zone"} {
				if random.IntN(4) > 0 {
					pairs = append(pairs, fmt.Sprintf("%s=%d", key, random.IntN(3)))
				}
			}
			return strings.Join(pairs, " ")
		}
		for step := range 120 {
			switch one := random.IntN(10); {
			case one < 2 || len(nodes) == 0:
				nodes = append(nodes, c.add(fmt.Sprint("n", step), label(), random.Int64N(10)))
			case one == 2:
				at := random.IntN(len(nodes))
				c.remove(nodes[at])
				nodes[at] = nodes[len(nodes)-1]
				nodes = nodes[:len(nodes)-1]
			case one < 5:
				c.relabel(nodes[random.IntN(len(nodes))], label())
			case one == 5:
				n := nodes[random.IntN(len(nodes))]
				c.SetSchedulable(n, !n.Schedulable)
				c.Change(n, used(n))
			default:
				n := nodes[random.IntN(len(nodes))]
				n.Free = resources.Amounts{random.Int64N(n.Capacity.Of(0) + 1)}
				n.Room = n.Free
				c.Change(n, used(n))
			}
			if random.IntN(3) == 0 { // else changes come together
				key, asks := []string{"block", "rack", "power", "zone"}[random.IntN(4)], 1+random.Int64N(3)
				assert.Equal(t, c.names(key, asks), c.naive(key, asks), "seed %d, step %d", seed, step)
				c.verify(t)
			}
		}
	}
}

// naive are the domains of a level, each with what fits there, by a look at all nodes.
func (c *cluster) naive(key string, asks int64) string {
	keys := map[string][]string{"block": {"block"}, "rack": {"block", "rack"}}[key]
	if keys == nil {
		keys = []string{key}
	}
	fit := map[string]int64{}
	for n := range c.AllNodes {
		var path []string
		for _, key := range keys {
			path = append(path, n.Attributes[key])
		}
		if strings.Contains("/"+strings.Join(path, "/")+"/", "//") {
			continue // a value is missing
		}
		name := strings.Join(path, "/")
		fit[name] += 0
		if n.Schedulable {
			fit[name] += n.Free.Of(0) / asks
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fit)) {
		out = append(out, fmt.Sprintf("%s:%d", name, fit[name]))
	}
	return strings.Join(out, " ")
}

// TestReadersThatAreLateCountAnew has more changes than are kept.
func TestReadersThatAreLateCountAnew(t *testing.T) {
	c := newCluster([]string{"rack"})
	n := c.add("n1", "rack=r1", 5000)
	c.names("rack", 1)
	for i := range 5000 {
		n.Free = resources.Amounts{int64(i)}
		n.Room = n.Free
		c.Change(n, used(n))
	}
	assert.Assert(t, c.dropped > 0)
	assert.Equal(t, c.names("rack", 1), "r1:4999")
	c.verify(t)
}

// TestSlotsThatNobodyReadsAreForgotten bounds what is kept.
func TestSlotsThatNobodyReadsAreForgotten(t *testing.T) {
	c := newCluster([]string{"rack"})
	for i := range 4096 {
		c.add(fmt.Sprint("n", i), fmt.Sprint("rack=", i%8), 4)
	}
	first := c.Slots(resources.Amounts{1}, 0)
	for i := range int32(1100) {
		c.Slots(resources.Amounts{1}, 0)
		c.Slots(resources.Amounts{1}, 1+i)
	}
	assert.Assert(t, len(c.slots) <= slotsMax/4096)
	assert.Equal(t, c.Slots(resources.Amounts{1}, 0), first, "what is read stays")
}

// BenchmarkChange is a node that changes, and one class that is read, on 5,000 nodes in 50 racks.
func BenchmarkChange(b *testing.B) {
	for _, classes := range []int{0, 1, 100} {
		b.Run(fmt.Sprintf("classes=%d", classes), func(b *testing.B) {
			c := newCluster([]string{"block", "rack"})
			var nodes []*ledger.Node
			for i := range 5000 {
				nodes = append(nodes, c.add(fmt.Sprint("n", i), fmt.Sprintf("block=%d rack=%d", i/1000, i/100), 64))
			}
			for i := range int32(classes) {
				c.Slots(resources.Amounts{4}, i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n := nodes[i%len(nodes)]
				n.Free[0] ^= 4
				c.Change(n, used(n))
				if classes > 0 {
					c.Slots(resources.Amounts{4}, 0)
				}
			}
		})
	}
}

// Asks of nothing fit without end. A node counts for a bounded number of them, so that sums of any nodes stay numbers.
func TestAsksOfNothing(t *testing.T) {
	c := newCluster([]string{"rack"})
	c.add("n1", "rack=r1", 1)
	c.add("n2", "rack=r1", 1<<40)
	assert.Equal(t, c.names("rack", 0), "r1:33554432")
	assert.Equal(t, c.Slots(resources.Amounts{1}, 0).All(), int64(1+16777216))
	c.verify(t)
}
