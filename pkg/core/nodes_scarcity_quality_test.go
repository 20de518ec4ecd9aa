package core_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A selective cluster has nodes in zones, of which some have a disk, and asks that need the one or the other, for 95 percent of
// what there is.
type selectiveCluster struct {
	nodes []map[string]string // attributes
	asks  []selectiveAsk
}

type selectiveAsk struct {
	selector string
	vcore    int64
}

const selectiveCores = 16 // of a node

func randomSelectiveCluster(chance *rand.Rand) (c selectiveCluster) {
	for range 120 {
		// zone a has about half of the nodes, b a third; a fifth of all has a disk
		zone := []string{"a", "a", "a", "b", "b", "c"}[chance.IntN(6)]
		c.nodes = append(c.nodes, map[string]string{"zone": zone, "disk": []string{"", "", "", "", "ssd"}[chance.IntN(5)]})
	}
	selectors := []string{"zone=a", "zone=b", "zone=c", "zone=b|c", "disk=ssd", "zone=a,disk=ssd"}
	weights, all := make([]int, len(selectors)), 1
	for i := range weights {
		weights[i] = chance.IntN(4)
		all += weights[i]
	}
	left := int64(len(c.nodes)) * selectiveCores * 95 / 100
	for left > 0 {
		a := selectiveAsk{vcore: min(int64(1)<<chance.IntN(3), left)}
		if chance.IntN(100) < 45 { // the others can run anywhere
			at := chance.IntN(all)
			for i := range selectors {
				if at -= weights[i]; at < 0 {
					a.selector = selectors[i]
					break
				}
			}
		}
		left -= a.vcore
		c.asks = append(c.asks, a)
	}
	return c
}

// selects reports whether a node has what a selector names.
func selects(selector string, attributes map[string]string) bool {
	for term := range strings.SplitSeq(selector, ",") {
		label, values, is := strings.Cut(term, "=")
		if is && !strings.Contains("|"+values+"|", "|"+attributes[label]+"|") {
			return false
		}
	}
	return true
}

// placed is how many cores of the asks are placed, which come one by one.
func (c *selectiveCluster) placed(order api.NodeOrder) (cores int64) {
	attributes, asks := map[api.NodeID]map[string]string{}, map[api.AllocationKey]selectiveAsk{}
	p := core.NewPartition(api.Options{
		Kinds: testKinds(), ReserveDelay: -1,
		Feasible: func(key api.AllocationKey, node api.NodeID, _ bool) error {
			if !selects(asks[key].selector, attributes[node]) {
				return errors.New("another node")
			}
			return nil
		},
		Constraints: func(key api.AllocationKey) string { return "-" + asks[key].selector },
	}, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "a"}}}, Nodes: order})
	for i, has := range c.nodes {
		id := api.NodeID(fmt.Sprint("n", i))
		attributes[id] = has
		p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{selectiveCores}, Attributes: has})
	}
	p.Apply(start, api.AddApplication{ID: "app", Queue: "root.a"})
	for i, a := range c.asks {
		one := ask("app", fmt.Sprint("k", i), a.vcore)
		one.Allocation.Tags = map[string]string{api.TagNodeSelector: a.selector}
		asks[one.Allocation.Key] = a
		p.Apply(start, one)
		run(p)
	}
	return p.View().Root.Used[0]
}

// bound is the most that can be placed if all asks are known and may be divided: the least, over all sets of selectors, of what asks of
// other selectors want and of what nodes have that any of the set can use (a cut that is least is a flow that is most).
func (c *selectiveCluster) bound() int64 {
	wants := map[string]int64{}
	for _, a := range c.asks {
		wants[a.selector] += a.vcore
	}
	var selectors []string
	for selector := range wants {
		selectors = append(selectors, selector)
	}
	least := int64(len(c.nodes)) * selectiveCores
	for set := range 1 << len(selectors) {
		var cut int64
		for i, selector := range selectors {
			if set>>i&1 == 0 {
				cut += wants[selector]
			}
		}
		for _, has := range c.nodes {
			for i, selector := range selectors {
				if set>>i&1 == 1 && selects(selector, has) {
					cut += selectiveCores
					break
				}
			}
		}
		least = min(least, cut)
	}
	return least
}

// TestScarcityInRandomClusters: of what asks with selectors and zones want in random clusters, at a load of 95 percent, the order by what
// is scarce places nearly as much as can be placed by one that knows all asks before, and more than each other order.
func TestScarcityInRandomClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	orders := []struct {
		name  string
		order api.NodeOrder
	}{{"fair", api.NodeOrder{}}, {"binpacking", api.NodeOrder{Packing: true}}, {"scarcity", api.NodeOrder{Scarcity: true}}}
	placed := map[string]int64{}
	var wanted, bound int64
	for seed := range seeds.Of(t, 100) {
		c := randomSelectiveCluster(rand.New(rand.NewPCG(seed, 47)))
		for _, a := range c.asks {
			wanted += a.vcore
		}
		bound += c.bound()
		for _, o := range orders {
			placed[o.name] += c.placed(o.order)
		}
	}
	percent := func(cores int64) float64 { return 100 * float64(cores) / float64(wanted) }
	t.Logf("of what asks want, in percent: fair %.2f, binpacking %.2f, scarcity %.2f, and %.2f can be",
		percent(placed["fair"]), percent(placed["binpacking"]), percent(placed["scarcity"]), percent(bound))
	assert.Assert(t, placed["scarcity"] > placed["fair"] && placed["scarcity"] > placed["binpacking"] && placed["scarcity"]*1000 > bound*985)
}
