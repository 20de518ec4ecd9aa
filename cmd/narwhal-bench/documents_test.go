package main

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/outcome"
	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/scenarios"
)

// The results of make figures, and the page that shows some of them.
const (
	figuresFile = "../../docs/internals/figures.json"
	firstPage   = "../../README.md"
)

// shown are the rows of the first page, in its words: the load and the figure of each.
var shown = []struct{ words, load, figure string }{
	{"20,000 pods on 5,000 empty nodes: placements, 1/s", scenarios.Filling, "placements"},
	{"processor for each placement, µs", scenarios.Filling, "processor for each placement"},
	{"memory allocated for each placement, B", scenarios.Filling, "memory allocated for each placement"},
	{"heap of each pod, B", scenarios.Filling, "heap of each pod"},
	{"200 fair queues: placements, 1/s", scenarios.ManyQueues, "placements"},
	{"pods end and others begin, 1/s", scenarios.Churn, "replacements"},
	{"full cluster: room used again, median, µs", scenarios.Full, "room used again, median"},
	{"foreign pods in, µs", scenarios.Foreign, "foreign pods in"},
	{"foreign pods out, µs", scenarios.Foreign, "foreign pods out"},
	{"victims of a roll-out on 500 full nodes", scenarios.Daemonsets, "victims"},
	{"victims of a claim to a guarantee, of which 140 are the fewest", scenarios.Guarantee, "victims"},
}

// Marks around the figures.
const (
	figuresBegin = "<!-- made from docs/internals/figures.json -->\n"
	figuresEnd   = "<!-- end -->\n"
)

// row is a figure of a load.
func row(t *testing.T, report *outcome.Report, load, figure string) outcome.Row {
	t.Helper()
	for _, r := range report.Rows() {
		if r.Case == load && r.Figure == figure {
			return r
		}
	}
	t.Fatalf("no %s of %s", figure, load)
	return outcome.Row{}
}

// TestFiguresOfTheFirstPage compares the figures of the first page with the recorded results; -update writes them.
func TestFiguresOfTheFirstPage(t *testing.T) {
	report, err := read(figuresFile)
	assert.NilError(t, err)
	assert.DeepEqual(t, report.Faults(outcome.Ours), []string(nil))
	var b strings.Builder
	b.WriteString("| | Narwhal | YuniKorn | times |\n|---|---:|---:|---:|\n")
	for _, s := range shown {
		r := row(t, report, s.load, s.figure)
		assert.Equal(t, r.Ours.Runs, 3, "%s", s.words)
		ours, theirs, times := r.Cells()
		b.WriteString("| " + strings.Join([]string{s.words, ours, theirs, times}, " | ") + " |\n")
	}
	b.WriteString("\nMedians of three runs in turn, of " + report.At + ", on " + report.Machine + ", " + report.Go + ", at ordinary priority.\n")
	page, err := os.ReadFile(firstPage)
	assert.NilError(t, err)
	before, rest, found := strings.Cut(string(page), figuresBegin)
	assert.Assert(t, found)
	written, after, found := strings.Cut(rest, figuresEnd)
	assert.Assert(t, found)
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(firstPage, []byte(before+figuresBegin+b.String()+figuresEnd+after), 0o644))
		return
	}
	assert.Equal(t, written, b.String())
}

// TestFiguresAreOfThisCode plays loads of the first page on this core, and compares what hangs on the machine least: the victims
// of a roll-out are the same, and the memory of placements is that of the page within a quarter. For a guarantee there are more
// victims where a busy machine has asks come one by one, and 212 then (docs/internals/performance.md).
func TestFiguresAreOfThisCode(t *testing.T) {
	report, err := read(figuresFile)
	assert.NilError(t, err)
	for _, c := range scenarios.FullSizes() {
		var figures []string
		off := 0.0
		switch c.Scenario {
		case scenarios.Daemonsets:
			figures = []string{"victims", "fewest possible"}
		case scenarios.Guarantee:
			figures, off = []string{"victims", "fewest possible"}, 212.0/140-1
		case scenarios.Filling:
			figures, off = []string{"memory allocated for each placement", "objects for each placement", "heap of each pod"}, 0.25
		default:
			continue
		}
		result, err := runChild(order{Core: outcome.Ours, Case: c, Limit: time.Minute})
		assert.NilError(t, err)
		assert.DeepEqual(t, result.Faults, []string(nil))
		for _, f := range result.Figures {
			for _, name := range figures {
				if name == f.Name {
					recorded := row(t, report, c.Scenario, name).Ours.Median
					assert.Assert(t, math.Abs(f.Value/recorded-1) <= off, "%s, %s: %v, and %v is recorded", c.Name(), name, f.Value, recorded)
				}
			}
		}
	}
}

// TestRatiosOfTheFigures: each ratio of the first page is that of the figures beside it.
func TestRatiosOfTheFigures(t *testing.T) {
	report, err := read(figuresFile)
	assert.NilError(t, err)
	for _, s := range shown {
		r := row(t, report, s.load, s.figure)
		ours, theirs, times := r.Cells()
		number := func(text string) float64 {
			v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
			assert.NilError(t, err)
			return v
		}
		quotient := number(theirs) / number(ours)
		off := min(math.Abs(quotient/number(times)-1), math.Abs(1/quotient/number(times)-1))
		assert.Assert(t, off < 0.02, "%s: off by %.3f", s.words, off)
	}
}
