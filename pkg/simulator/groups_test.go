package simulator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// Two racks of two nodes, in one of which a small pod runs.
const groupText = `
name: groups
queues: {partitions: [{name: default, topology: {levels: [[rack]]}, queues: [{name: root, queues: [{name: default}]}]}]}
nodes:
  - {name: a, count: 2, capacity: {vcore: 4}, attributes: {rack: a}}
  - {name: b, count: 2, capacity: {vcore: 4}, attributes: {rack: b}}
delays: {start: 0s, stop: 0s, restart: 0s}
workloads:
  - {name: small, queue: root.default, resources: {vcore: 1}, runs: forever}
  - {name: g, queue: root.default, applications: 2, pods: 2, arrival: {at: 1m}, resources: {vcore: %d}, runs: 10m, %s}
until: 1h
`

// TestGroups: pods of an application start together, where the group says, and those that are done count on.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name  string
		vcore int
		group string
		waits time.Duration // the longest
	}{
		{"a rack for each", 3, "group: {require: rack}", 0},
		{"only one rack is whole: one after the other", 4, "group: {require: rack}", 10 * time.Minute},
		{"as many as must, anywhere: one of the second waits", 4, "group: {least: 1}", 10 * time.Minute},
		{"few racks: the first takes the one that is whole, and the second waits", 4, "group: {prefer: rack}", 10 * time.Minute},
		{"each pod in a rack of its own choice: the second finds no room for one of its two", 4, "group: {each: rack, size: 1}", 10 * time.Minute},
		{"pods of one rack, and one rack is whole", 4, "group: {each: rack}", 10 * time.Minute},
		{"of no domain", 4, "group: {unit: all, priority: 7}", 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := simulator.Run(parse(t, fmt.Sprintf(groupText, c.vcore, c.group)), simulator.Options{Verify: true})
			assert.NilError(t, err)
			assert.Equal(t, r.Pods.Ended, 4)
			assert.Equal(t, r.Pods.Running, 1)
			assert.Equal(t, time.Duration(r.Waiting.Max)*time.Millisecond, c.waits)
		})
	}
}

// TestGroupsThatAreRefused: what does not go with a group is said.
func TestGroupsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ group, want string }{
		{"group: {least: 3}", "wants 3 pods to start together, and an application has 2"},
		{"group: {unit: some}", `"some" is not all, which ends all pods together`},
		{"group: {priority: high}", "priority"},
		{"group: {}, gang: {}", "goes with neither a gang nor pods that come one by one"},
	} {
		_, err := simulator.Parse(fmt.Sprintf(groupText, 1, c.group))
		assert.ErrorContains(t, err, c.want)
	}
	_, err := simulator.Parse(strings.ReplaceAll(fmt.Sprintf(groupText, 1, "group: {}"), "{at: 1m}", "{of: pods, every: 1m}"))
	assert.ErrorContains(t, err, "goes with neither a gang nor pods that come one by one")
}

// TestDomainsOfAGroupOfNodes: nodes of one group stand in racks of two, and these in rows of two; the last rack has one node.
func TestDomainsOfAGroupOfNodes(t *testing.T) {
	nodes := "  - {name: n, count: 5, capacity: {vcore: 4}, attributes: {kind: large}, domains: {rack: 2, row: 4}}"
	scenario := parse(t, "name: racks\nqueues: {partitions: [{name: default, queues: []}]}\nnodes:\n"+nodes+"\nworkloads: []\nuntil: 1h\n")
	var where []string
	for _, n := range scenario.Nodes {
		where = append(where, fmt.Sprint(n.ID, " ", n.Attributes["row"], " ", n.Attributes["rack"], " ", n.Attributes["kind"]))
	}
	assert.DeepEqual(t, where, []string{
		"n-1 n-1 n-1 large", "n-2 n-1 n-1 large", "n-3 n-1 n-2 large", "n-4 n-1 n-2 large", "n-5 n-2 n-3 large",
	})
	for domains, want := range map[string]string{
		"{rack: 0}": "0 is not between 1 and 200000",
		"[rack]":    "must be a mapping of how many nodes are in one, such as rack: 16",
		"{kind: 2}": "kind is among the attributes, too",
	} {
		_, err := simulator.Parse("name: racks\nnodes:\n" + strings.Replace(nodes, "{rack: 2, row: 4}", domains, 1))
		assert.ErrorContains(t, err, want)
	}
}
