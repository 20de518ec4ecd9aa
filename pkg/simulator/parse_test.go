package simulator_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

func TestProblemsOfAScenario(t *testing.T) {
	text, err := os.ReadFile("testdata/wrong.yaml")
	assert.NilError(t, err)
	_, err = simulator.Parse(string(text))
	assert.Assert(t, err != nil)
	golden.Assert(t, err.Error()+"\n", "wrong.golden")
}

func TestProblemsOfTheQueuesHaveTheirLines(t *testing.T) {
	tail := "\nnodes:\n  - {name: n, capacity: {vcore: 1}}\n"
	for _, c := range []struct{ name, text, want string }{
		{"list", "name: x\n\n\nqueues:\n  - name: root\n    queues:\n      - name: a\n        colour: red" + tail, "8: "},
		{"flat list", "name: x\n\n\nqueues:\n- name: root\n  queues:\n  - name: a\n    colour: red" + tail, "8: "},
		{"whole", "name: x\nqueues:\n  partitions:\n    - name: default\n      colour: red\n      queues: [{name: root}]" + tail, "5: "},
		{"block", "name: x\nqueues: |\n  partitions:\n    - name: default\n      colour: red\n      queues: [{name: root}]" + tail, "5: "},
		{"flow", "name: x\nqueues: [{name: root, colour: red}]" + tail, ""},
	} {
		_, err := simulator.Parse(c.text)
		assert.ErrorContains(t, err, "colour", c.name)
		assert.Assert(t, strings.HasPrefix(err.Error(), c.want), "%s: %v", c.name, err)
	}
}

func TestQueuesInAllForms(t *testing.T) {
	head := "name: x\nnodes:\n  - {name: n, capacity: {vcore: 1}}\n"
	work := "workloads:\n  - {name: w, queue: a, resources: {vcore: 1}, runs: 1s}\n"
	for name, queues := range map[string]string{
		"list":  "queues:\n  - name: root\n    queues:\n      # a comment\n\n      - name: a\n",
		"flat":  "queues:\n- name: root\n  queues:\n  - name: a\n",
		"whole": "queues:\n  partitions:\n    - name: default\n      queues:\n        - name: a\n",
		"block": "queues: |\n  partitions:\n    - name: default\n      queues:\n        - name: a\n",
		"flow":  "queues: [{name: root, queues: [{name: a}]}]\n",
	} {
		for _, text := range []string{head + queues + work, head + work + queues, queues + head + work} {
			s, err := simulator.Parse(text)
			assert.NilError(t, err, "%s:\n%s", name, text)
			_, err = simulator.Run(s, simulator.Options{Verify: true})
			assert.NilError(t, err)
		}
	}
}

func TestNotEvenYAML(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "1: the scenario is empty"},
		{"name: [", "1: "},
		{"- a", "must be a mapping"},
		{"name: &a [*a]", ""},
		{"name: x\nnodes: []\n", "nodes: there is none"},
	} {
		_, err := simulator.Parse(c.text)
		assert.ErrorContains(t, err, c.want, "%q", c.text)
	}
}

// TestAliasesAreBounded shows that a text is refused whose aliases stand for too
// many values.
func TestAliasesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	text := "name: x\nnodes: &a0 [{name: n}, {name: n}]\n"
	for i := range 30 {
		text += fmt.Sprintf("x%d: &a%d [*a%d, *a%d]\n", i, i+1, i, i)
	}
	_, err := simulator.Parse(text + "workloads: *a30\n")
	assert.ErrorContains(t, err, "is not known here")
	var nodes strings.Builder
	nodes.WriteString("name: x\nforeign:\n  - &f {name: f, resizes: &r\n    [")
	nodes.WriteString(strings.Repeat("{after: 1s, resources: {vcore: 1}}, ", 5000))
	nodes.WriteString("]}\n" + strings.Repeat("  - {name: g, resizes: *r}\n", 200))
	_, err = simulator.Parse(nodes.String())
	assert.ErrorContains(t, err, "the scenario has more than 2000000 values")
}

func FuzzParse(f *testing.F) {
	for _, name := range simulator.Examples() {
		text, err := simulator.ExampleText(name)
		assert.NilError(f, err)
		f.Add(text)
	}
	f.Add(finite)
	f.Add("name: x\nqueues: &q\n- name: root\n  queues: *q\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := simulator.Parse(text); err == nil {
			assert.NilError(t, s.CheckQueues())
		}
	})
}
