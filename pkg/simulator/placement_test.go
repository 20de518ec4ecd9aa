package simulator_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

const placedText = `
name: placed
nodes: [{name: n, capacity: {vcore: 8}}]
namespaces: [{name: small, max: {vcore: 1}}, {name: large, guaranteed: {vcore: 2}}]
queues:
  partitions:
    - name: default
      placementrules:
        - name: tag
          value: namespace
          create: true
          parent: {name: user, create: true, filter: {type: allow, groups: [staff]}, parent: {name: fixed, value: spaces}}
        - {name: tag, value: team}
      queues:
        - name: spaces
          parent: true
          submitacl: '*'
        - name: ops
          submitacl: '*'
workloads:
  - {name: in, namespaces: [small, large], users: [ann, bob], user-groups: [staff], applications: 4, pods: 2, resources: {vcore: 1}, runs: 10s}
  - {name: tagged, tags: {team: ops}, resources: {vcore: 1}, runs: 10s}
  - {name: nowhere, queue: root.nowhere, user: eve, resources: {vcore: 1}, runs: 10s}
`

// TestQueuesThatRulesMake counts what runs in queues that rules of placement make: in the queue
// itself and in those above it, beside those that are configured.
func TestQueuesThatRulesMake(t *testing.T) {
	r := verified(t, parse(t, placedText), 1)
	var lines []string
	for _, q := range r.Queues {
		lines = append(lines, fmt.Sprintf("%s%s arrived=%d placed=%d peak=%d made=%v leaf=%v",
			strings.Repeat(" ", q.Depth), q.Path, q.Arrived, q.Placed, q.Peak["vcore"], q.Made, q.Leaf))
	}
	assert.DeepEqual(t, lines, []string{
		"root arrived=10 placed=9 peak=6000 made=false leaf=false",
		" root.spaces arrived=8 placed=8 peak=5000 made=false leaf=false",
		"  root.spaces.ann arrived=4 placed=4 peak=1000 made=true leaf=false",
		"   root.spaces.ann.small arrived=4 placed=4 peak=1000 made=true leaf=true",
		"  root.spaces.bob arrived=4 placed=4 peak=4000 made=true leaf=false",
		"   root.spaces.bob.large arrived=4 placed=4 peak=4000 made=true leaf=true",
		" root.ops arrived=1 placed=1 peak=1000 made=false leaf=true",
	})
	assert.Equal(t, r.Pods.Rejected, 1)
}

func TestProblemsOfPlacement(t *testing.T) {
	for text, problem := range map[string]string{
		"workloads: [{name: w, resources: {vcore: 1}, runs: 1s}]\nqueues: [{name: root}]":                                    "queue: is missing",
		"workloads: [{name: w, users: [a], user: b, resources: {vcore: 1}, runs: 1s}]":                                       "stands beside a list of the same",
		"namespaces: [{name: a}, {name: a}]":                                                                                 `the namespace "a" has a quota already`,
		"namespaces: [{name: a, max: {vcore: -1}}]":                                                                          "not a quantity",
		"namespaces: [{name: a, max: 5}]":                                                                                    "must be a mapping",
		"workloads: [{name: w, namespace: x, resources: {vcore: 1}, runs: 1s}]\nnamespaces: [{name: x, max: {vcore: many}}]": "not a quantity",
	} {
		_, err := simulator.Parse("name: x\nnodes: [{name: n, capacity: {vcore: 1}}]\n" + text + "\n")
		assert.ErrorContains(t, err, problem, "%s", text)
	}
}
