package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// TestSimulate runs whole command lines, as TestCommand does.
func TestSimulate(t *testing.T) {
	for _, c := range []struct {
		name, line, in string
	}{
		{"simulate-small", "simulate --example small --verify", ""},
		{"simulate-summary", "simulate --example small --output summary", ""},
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
		assert.Equal(t, problems.String(), "\nthe report is in "+file+"\n")
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
		assert.Assert(t, strings.Contains(text.String(), strings.Replace(plan.Outcome, "chosen", "victims found", 1)), plan.Outcome)
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

// TestProgressLine says how much of how much is done.
func TestProgressLine(t *testing.T) {
	p := simulator.Progress{Now: time.Hour, Nodes: 300, Placed: 1200, Running: 80, Pending: 7, Arrived: 30, Expected: 400}
	assert.Equal(t, progressLine(p), "1h  arrived 30 of 400, 7%  nodes 300  placed 1,200  running 80  pending 7")
	p.Until = 4 * time.Hour
	assert.Equal(t, progressLine(p), "1h of 4h, 25%  arrived 30 of 400, 7%  nodes 300  placed 1,200  running 80  pending 7")
}

// TestProgressIsComplete: at the end all that was expected has come.
func TestProgressIsComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, name := range simulator.Examples() {
		if name == "teams" {
			continue // takes seconds
		}
		text, err := simulator.ExampleText(name)
		assert.NilError(t, err)
		scenario, err := simulator.Parse(text)
		assert.NilError(t, err)
		var last simulator.Progress
		_, err = simulator.Run(scenario, simulator.Options{Progress: func(p simulator.Progress) {
			assert.Assert(t, p.Arrived >= last.Arrived && p.Expected >= p.Arrived)
			last = p
		}})
		assert.NilError(t, err)
		assert.Assert(t, last.Expected > 0)
		assert.Equal(t, last.Arrived, last.Expected, name)
	}
}

// TestReportSaysHowItIsMade: the command in a report makes the same report again.
func TestReportSaysHowItIsMade(t *testing.T) {
	t.Chdir(t.TempDir())
	text, err := simulator.ExampleText("small")
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile("my cluster.yaml", []byte(text), 0o600))
	made := func(args ...string) string {
		assert.Equal(t, run(args, nil, io.Discard, io.Discard), exitDone)
		page, err := os.ReadFile("report.html")
		assert.NilError(t, err)
		return string(page)
	}
	first := made("simulate", "--scenario", "my cluster.yaml", "--verify", "--output", "json", "--report", "report.html")
	want := "<pre>narwhal simulate --scenario &#39;my cluster.yaml&#39; --verify --seed 1 --report report.html</pre>"
	assert.Assert(t, strings.Contains(first, want), first[:6000])
	assert.Assert(t, strings.Contains(first, "The scenario: my cluster.yaml"))
	assert.Equal(t, made("simulate", "--scenario", "my cluster.yaml", "--verify", "--seed", "1", "--report", "report.html"), first)
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"a/b-1.yaml": "a/b-1.yaml", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'"} {
		assert.Equal(t, shellWord(text), want)
	}
}
