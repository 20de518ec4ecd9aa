package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestNodesInOtherDomains: a node with room that is not in the domain to which a group, or a subgroup, is bound is not said to have room.
func TestNodesInOtherDomains(t *testing.T) {
	const group, unlabelled = "quorum.require", "3 are not in the domain of its group, such as n-block, n-none, n-rack; "
	for _, test := range []struct {
		name  string
		level string // of which tag
		other string // subgroup of the member that runs
		on    []string
		wants string
	}{
		{"where it runs", group, "a", []string{"n-b1-r1"}, "6 are not in the domain of its group, such as n-b1-r2, n-b2-r1, n-b2-r2; its group runs in rack b1/r1"},
		{"the racks of two blocks have one name", group, "a", []string{"n-b2-r1"}, "6 are not in the domain of its group, such as n-b1-r1, n-b1-r2, n-b2-r2; its group runs in rack b2/r1"},
		{"it runs nowhere", group, "a", nil, unlabelled + "its group must run in one rack"},
		{"it runs in two", group, "a", []string{"n-b1-r1", "n-b1-r2"}, unlabelled + "its group must run in one rack"},
		{"its subgroup runs", "quorum.each", "b/1", []string{"n-b1-r1"}, "6 are not in the domain of its group, such as n-b1-r2, n-b2-r1, n-b2-r2; subgroup b runs in rack b1/r1"},
		{"another subgroup runs", "quorum.each", "a", []string{"n-b1-r1"}, unlabelled + "subgroup b must run in one rack"},
		{"its subgroup may be divided", "quorum.each", "b/1 split", []string{"n-b1-r1"}, ""},
		{"it may run anywhere", "none", "a", []string{"n-b1-r1"}, ""},
	} {
		c := newCluster(t, api.Config{Levels: [][]string{{"block", "rack"}}, Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "web", Max: resources.Limits{2}}}}}, api.Options{})
		for id, attributes := range map[string]map[string]string{
			"n-b1-r1": {"block": "b1", "rack": "r1"}, "n-b1-r2": {"block": "b1", "rack": "r2"},
			"n-b2-r1": {"block": "b2", "rack": "r1"}, "n-b2-r2": {"block": "b2", "rack": "r2"},
			"n-block": {"block": "b1"}, "n-rack": {"rack": "r1"}, "n-none": nil,
		} {
			c.Apply(start, api.AddNode{ID: api.NodeID(id), Capacity: resources.Amounts{9, 9}, Attributes: attributes})
		}
		member := func(key, subgroup string, change ...func(*api.Allocation)) {
			c.ask("web", key, 1, 1, append(change, func(a *api.Allocation) {
				name, splits := strings.CutSuffix(subgroup, " split")
				a.Tags = map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: "1", api.TagQuorumSubgroup: name, test.level: "rack"}
				if splits {
					a.Tags[api.TagQuorumSplit] = "true"
				}
			})...)
		}
		for i, node := range test.on {
			member(fmt.Sprint("t", i), test.other, on(node))
		}
		for i := range 2 - len(test.on) {
			c.ask("web", fmt.Sprint("w", i), 1, 1, on("n-none")) // the queue is full
		}
		member("waits", "b/2")
		c.settle(start.Add(time.Minute))
		a, err := explain.Ask(c.View(), c.kinds, "web", "waits")
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(a.Text(), "  nodes     "+test.wants), "%s: %s", test.name, a.Text())
		assert.Equal(t, strings.Contains(a.Text(), "not in the domain"), test.wants != "", test.name)
	}
}
