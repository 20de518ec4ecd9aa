package object

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestDomains: a rack of the same name in two blocks is two domains, an agent leaves a node idle, and what is kept is named.
func TestDomains(t *testing.T) {
	member := func(name string) *api.Allocation {
		return &api.Allocation{Tags: map[string]string{api.TagQuorum: name}}
	}
	node := func(block, rack string, open bool, runs ...*api.Allocation) *api.NodeView {
		return &api.NodeView{
			Attributes: map[string]string{"block": block, "rack": rack, "zone": "z"}, Schedulable: open, Allocations: runs,
			Capacity: resources.Amounts{10}, Available: resources.Amounts{10 - int64(len(runs))},
		}
	}
	kept, nominated := node("b2", "r1", true), node("b2", "r1", true)
	kept.Reservations = []api.Reservation{{Key: "wait-1", Amounts: resources.Amounts{3}}, {Key: "single", Amounts: resources.Amounts{1}}}
	nominated.Nominated, nominated.NominatedAmounts = []api.AllocationKey{"wait-2"}, resources.Amounts{2}
	wait := member("waits")
	wait.Key = "wait-1"
	other := member("waits")
	other.Key = "wait-2"
	at := &Snapshot{View: &api.View{
		Config: api.Config{Levels: [][]string{{"block", "rack"}, {"zone"}}},
		Nodes: []*api.NodeView{
			node("b1", "r1", true, member("train"), member("train")), node("b1", "r1", true, member("a")), node("b1", "", true),
			node("", "r9", true), node("b1", "r2", true, &api.Allocation{Required: "agent"}), node("b1", "r3", false),
			kept, nominated,
		},
		Applications: []*api.ApplicationView{{Asks: []api.AskView{{Allocation: wait}, {Allocation: other}, {Allocation: &api.Allocation{Key: "single"}}}}},
	}}
	text := ""
	for _, d := range at.domains() {
		text += fmt.Sprintf("%s of %s in %q: %d nodes, %d take asks, %d idle, intact %t, %d of %d left, %d kept for %v, runs %v\n",
			d.Name, d.Level, d.Parent, d.Nodes, d.Schedulable, d.Idle, d.Intact, d.Available, d.Capacity, d.Kept, d.KeptFor, d.Groups)
	}
	assert.Equal(t, text, `b1 of block in "": 5 nodes, 4 take asks, 3 idle, intact false, [46] of [50] left, [] kept for [], runs [a train]
b1/r1 of rack in "b1": 2 nodes, 2 take asks, 0 idle, intact false, [17] of [20] left, [] kept for [], runs [a train]
b1/r2 of rack in "b1": 1 nodes, 1 take asks, 1 idle, intact true, [9] of [10] left, [] kept for [], runs []
b1/r3 of rack in "b1": 1 nodes, 0 take asks, 1 idle, intact false, [10] of [10] left, [] kept for [], runs []
b2 of block in "": 2 nodes, 2 take asks, 2 idle, intact true, [20] of [20] left, [6] kept for [waits], runs []
b2/r1 of rack in "b2": 2 nodes, 2 take asks, 2 idle, intact true, [20] of [20] left, [6] kept for [waits], runs []
z of zone in "": 8 nodes, 7 take asks, 6 idle, intact false, [76] of [80] left, [6] kept for [waits], runs [a train]
`)
}
