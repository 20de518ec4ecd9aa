package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestSimulate runs whole command lines, as TestCommand does.
func TestSimulate(t *testing.T) {
	for _, c := range []struct {
		name, line, in string
	}{
		{"simulate-small", "simulate --example small --verify", ""},
		{"simulate-list", "simulate --list-examples", ""},
		{"simulate-help", "simulate --help", ""},
		{"simulate-queues", "simulate --example small --queues testdata/simulate-queues.yaml", ""},
		{"simulate-queues-missing", "simulate --example small --queues testdata/good.yaml", ""},
		{"simulate-openb", "simulate --openb-nodes testdata/openb-nodes.csv --openb-pods testdata/openb-pods.csv --verify", ""},
		{"simulate-openb-fill", "simulate --fill --seed 3 --openb-nodes testdata/openb-nodes.csv --openb-pods testdata/openb-pods.csv --verify", ""},
		{"simulate-fill-what", "simulate --fill", ""},
		{"simulate-openb-half", "simulate --openb-nodes testdata/openb-nodes.csv", ""},
		{"simulate-openb-swapped", "simulate --openb-nodes testdata/openb-pods.csv --openb-pods testdata/openb-nodes.csv", ""},
		{"simulate-no-example", "simulate --example large", ""},
		{"simulate-no-file", "simulate --scenario missing.yaml", ""},
		{"simulate-two", "simulate --scenario a --example small", ""},
		{"simulate-output", "simulate --output xml", ""},
		{"simulate-wrong", "simulate --scenario -", "name: x\nnodes:\n  - {name: n, capacity: {vcore: many}}\n  - {nam: m}\n"},
		{"simulate-warnings", "simulate --scenario -", "name: x\nqueues:\n  - name: root\n    queues:\n      - {name: a, maxapplications: 3}\nnodes:\n  - {name: n, capacity: {vcore: 1}}\n"},
	} {
		t.Run(c.name, func(t *testing.T) { playLine(t, c.name, c.line, c.in) })
	}
}

func TestSimulateWritesTheSameBytes(t *testing.T) {
	folder := t.TempDir()
	both := func(name string) (summary, page string) {
		file := filepath.Join(folder, name)
		var out, problems bytes.Buffer
		assert.Equal(t, run([]string{"simulate", "--example", "small", "--seed", "9", "--output", "json", "--report", file}, nil, &out, &problems), exitDone)
		assert.Equal(t, problems.String(), "the plots are in "+file+"\n")
		written, err := os.ReadFile(file)
		assert.NilError(t, err)
		return out.String(), string(written)
	}
	summary, page := both("a.html")
	again, pageAgain := both("b.html")
	assert.Assert(t, summary == again && page == pageAgain)
	var result struct{ Seed int }
	assert.NilError(t, json.Unmarshal([]byte(summary), &result))
	assert.Equal(t, result.Seed, 9)
}

// TestSimulateExplainsItsPlans: all of them are in the JSON, line by line, and the
// first of each kind in the text.
func TestSimulateExplainsItsPlans(t *testing.T) {
	var out, text, problems bytes.Buffer
	assert.Equal(t, run(strings.Fields("simulate --example daemonsets --verify --output json"), nil, &out, &problems), exitDone)
	var result struct {
		Preemption struct {
			Plans   map[string]int
			Records []struct {
				Ask, Outcome string
				Explanation  []string
			}
		}
	}
	assert.NilError(t, json.Unmarshal(out.Bytes(), &result))
	plans := 0
	for _, n := range result.Preemption.Plans {
		plans += n
	}
	assert.Equal(t, len(result.Preemption.Records), plans)
	assert.Equal(t, run(strings.Fields("simulate --example daemonsets"), nil, &text, &problems), exitDone)
	for _, plan := range result.Preemption.Records {
		assert.Assert(t, len(plan.Explanation) > 3, plan.Ask)
		assert.Assert(t, strings.Contains(text.String(), plan.Outcome), plan.Outcome)
	}
	assert.Equal(t, problems.String(), "")
}

func TestSimulatePrintsItsExample(t *testing.T) {
	var text, out, problems bytes.Buffer
	assert.Equal(t, run([]string{"simulate", "--print-example", "--example", "small"}, nil, &text, &problems), exitDone)
	assert.Equal(t, run([]string{"simulate", "--scenario", "-"}, &text, &out, &problems), exitDone)
	assert.Equal(t, problems.String(), "")
	var direct bytes.Buffer
	assert.Equal(t, run([]string{"simulate", "--example", "small"}, nil, &direct, &problems), exitDone)
	assert.Equal(t, out.String(), direct.String())
}

// TestProgressOnTerminalsOnly: a file that is no terminal gets no progress line.
func TestProgressOnTerminalsOnly(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	assert.NilError(t, err)
	defer func() { _ = file.Close() }()
	progress, done := progressOn(file)
	assert.Assert(t, progress == nil)
	done()
	progress, _ = progressOn(&bytes.Buffer{})
	assert.Assert(t, progress == nil)
}
