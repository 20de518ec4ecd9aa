package main

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// compared is a row of a table of a document: the figures of both cores and their ratio.
type compared struct{ ours, theirs, times string }

// comparedRow has three figures at the end, of which YuniKorn's may have the mark of a fault.
var comparedRow = regexp.MustCompile(`(?m)^\|.*\| ([\d.,]+) \| ([\d.,]+)(?: \(!\))? \| ([\d.,]+) \|$`)

// comparisons are the rows of the section of a document about both cores.
func comparisons(t *testing.T, document string) (rows []compared) {
	t.Helper()
	content, err := os.ReadFile(document)
	assert.NilError(t, err)
	_, section, found := strings.Cut(string(content), "\n## Beside YuniKorn\n")
	assert.Assert(t, found, document)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range comparedRow.FindAllStringSubmatch(section, -1) {
		rows = append(rows, compared{row[1], row[2], row[3]})
	}
	return rows
}

func figure(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	assert.NilError(t, err)
	return v
}

// TestRatiosOfTheDocuments: each ratio is that of the figures beside it, and the short table of the
// first page has rows of the long one.
func TestRatiosOfTheDocuments(t *testing.T) {
	long, short := comparisons(t, "../../docs/performance.md"), comparisons(t, "../../README.md")
	assert.Assert(t, len(long) > 40, "%d", len(long))
	assert.Assert(t, len(short) > 8, "%d", len(short))
	known := map[compared]bool{}
	for _, row := range long {
		known[row] = true
		ours, theirs, times := figure(t, row.ours), figure(t, row.theirs), figure(t, row.times)
		off := min(math.Abs(ours/theirs/times-1), math.Abs(theirs/ours/times-1))
		assert.Assert(t, off < 0.02, "%v: off by %.3f", row, off)
	}
	for _, row := range short {
		assert.Assert(t, known[row], "%v", row)
	}
}
