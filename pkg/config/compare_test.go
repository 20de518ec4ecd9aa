package config

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const comparedFrom = `
partitions:
  - name: gone
    queues: []
  - placementrules: [{name: provided}]
    queues:
      - name: root
        childtemplate: {resources: {max: {vcore: 2}}}
        queues:
          - {name: a, resources: {max: {vcore: 4, memory: 1Gi}}, properties: {priority.offset: "1"}}
          - {name: b, parent: true, queues: [{name: c}, {name: d}]}
          - {name: e, limits: [{users: [ann], maxresources: {vcore: 3}}]}
          - {name: f}
          - {name: g, parent: true}
`

const comparedTo = `
partitions:
  - placementrules: [{name: tag, value: namespace, create: true, filter: {users: [ann]}, parent: {name: fixed, value: g}}]
    preemption: {enabled: false}
    queues:
      - name: root
        childtemplate: {resources: {max: {vcore: 3}}, properties: {preemption.delay: 1m}}
        queues:
          - {name: a, resources: {max: {vcore: 500m}}, submitacl: "ann dev"}
          - {name: e, limits: [{users: [ann], maxresources: {vcore: 1}, maxapplications: 2}]}
          - {name: f, queues: [{name: h}]}
          - {name: g, parent: true, childtemplate: {maxapplications: 3}}
          - {name: i, parent: true, queues: [{name: j}]}
  - name: second
    queues: []
`

// TestCompare says all that differs, in order.
func TestCompare(t *testing.T) {
	before, err := Load(comparedFrom, nil)
	assert.NilError(t, err)
	after, err := Load(comparedTo, nil)
	assert.NilError(t, err)
	var lines []string
	for _, c := range Compare(before, after) {
		if line := c.String(); strings.Contains(line, ": preemption: ") {
			lines = append(lines, "preemption")
		} else {
			lines = append(lines, strings.TrimPrefix(line, "partition default: "))
		}
	}
	assert.DeepEqual(t, lines, []string{
		"placementrules: (provided) -> (tag namespace create allow users ann groups  below fixed g)",
		"there are access lists now: only users that they name may submit",
		"preemption",
		"root: childtemplate.resources.max.vcore: 2 -> 3",
		"root: childtemplate.properties.preemption.delay: none -> 1m",
		"root.a: resources.max.memory: 1Gi -> none",
		"root.a: resources.max.vcore: 4 -> 500m",
		`root.a: submitacl: none -> "ann dev"`,
		"root.a: properties.priority.offset: 1 -> none",
		"root.b: drains, with 2 below it; if a rule made it before it was configured, it is dynamic again",
		"root.e: limits: (users ann groups  vcore=3) -> (users ann groups  vcore=1 maxapplications=2)",
		"root.f: becomes a parent; the reload is refused as long as it has applications",
		"root.f.h: is new; if a rule has made it, it is configured now",
		"root.g: childtemplate: is new; the one above counts no more",
		"root.g: childtemplate.maxapplications: none -> 3",
		"root.i: is new, with 1 below it; if a rule has made it, it is configured now",
		"partition gone: goes, and what runs in it is released",
		"partition second: is new",
	})
	assert.Equal(t, len(Compare(before, before)), 0)
}
