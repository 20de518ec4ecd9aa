package outcome

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/scenarios"
)

func result(rate, took float64, faults ...string) scenarios.Result {
	return scenarios.Result{Figures: []scenarios.Figure{
		{Name: "rate", Unit: "1/s", Better: scenarios.Higher, Value: rate},
		{Name: "time", Unit: "ms", Better: scenarios.Lower, Value: took},
		{Name: "most", Better: scenarios.Equal, Value: 7},
	}, Faults: faults}
}

func sample() *Report {
	r := &Report{}
	c := scenarios.Case{Scenario: scenarios.Filling, Size: scenarios.Size{Nodes: 5}}
	for _, rate := range []float64{30_000, 10_000, 20_000} {
		r.Add(c, Ours, result(rate, 2))
	}
	r.Add(c, Theirs, result(100, 8))
	r.Add(c, Theirs, result(300, 4, "wrong"))
	return r
}

// Ratios are of medians, and above one where ours is better, whichever way that is.
func TestRows(t *testing.T) {
	rows := sample().Rows()
	assert.Equal(t, len(rows), 3)
	assert.DeepEqual(t, rows[0].Ours, Spread{Runs: 3, Median: 20_000, Least: 10_000, Most: 30_000})
	assert.DeepEqual(t, rows[0].Theirs, Spread{Runs: 2, Median: 200, Least: 100, Most: 300, Faulty: 1})
	assert.Equal(t, rows[0].Ratio, 100.0)
	assert.Equal(t, rows[1].Ratio, 3.0)
	assert.Equal(t, rows[2].Ratio, 0.0)
}

// A core that did not finish has no value, and no ratio.
func TestAFigureThatIsMissing(t *testing.T) {
	r := &Report{}
	c := scenarios.Case{Scenario: scenarios.Filling}
	r.Add(c, Ours, result(1, 1))
	r.Add(c, Theirs, scenarios.Result{Faults: []string{"not finished"}})
	row := r.Rows()[0]
	assert.Equal(t, row.Ratio, 0.0)
	assert.Equal(t, row.Theirs.text(row.Unit), "– (!)")
	assert.DeepEqual(t, r.Faults(Theirs), []string{"filling, run 1: not finished"})
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	assert.NilError(t, sample().WriteText(&b))
	assert.Equal(t, b.String(), strings.TrimPrefix(`
| load    | figure | unit | Narwhal |         range | YuniKorn |   range | times |
|---------|--------|------|--------:|--------------:|---------:|--------:|------:|
| filling | rate   | 1/s  |  20,000 | 10,000–30,000 |  200 (!) | 100–300 |   100 |
|         | time   | ms   |       2 |               |    6 (!) |     4–8 |     3 |
|         | most   |      |       7 |               |    7 (!) |         |       |

yunikorn: filling, run 2: wrong
`, "\n"))
}

func TestNumbers(t *testing.T) {
	for v, text := range map[float64]string{
		0: "0", 0.0123: "0.0123", 1.5: "1.50", 99.95: "100.0", 140: "140", 1234.5: "1,230", 1234: "1,230", 254_321.5: "254,000", 1_234_567: "1,230,000", -1234: "-1,230",
		math.NaN(): "0", math.Inf(1): "0",
	} {
		assert.Equal(t, number(v), text)
	}
}

// What was counted has all its digits, and the values of what was measured have equally many, so
// that the ends of a range never look to be in the wrong order.
func TestDigitsOfARow(t *testing.T) {
	measured := Spread{Runs: 3, Least: 14_018, Median: 14_026, Most: 14_049.5}
	assert.Equal(t, measured.text("B"), "14,000")
	assert.Equal(t, measured.span("B"), "")
	counted := Spread{Runs: 3, Least: 1698, Median: 1701, Most: 1705}
	assert.Equal(t, counted.text(""), "1,701")
	assert.Equal(t, counted.span(""), "1,698–1,705")
}

// What was written can be read, and several reports can be shown as one.
func TestJSON(t *testing.T) {
	var b bytes.Buffer
	assert.NilError(t, sample().WriteJSON(&b))
	again, err := Read(&b)
	assert.NilError(t, err)
	assert.DeepEqual(t, again, sample())
	again.Merge(sample())
	assert.Equal(t, len(again.Cases), 1)
	assert.Equal(t, again.Rows()[0].Ours.Runs, 6)
}

// What several reports are made of is told of all of them, each once.
func TestMergedReports(t *testing.T) {
	assert.Equal(t, new(Report).Runs(), "no run")
	of := func(machine, version string, runs int) *Report {
		r := &Report{At: "2026-01-01", Machine: machine, Go: "go1.26", Command: "narwhal-bench", Versions: map[string]string{Ours: version, Theirs: "v1.9.0"}}
		for range runs {
			for _, core := range []string{Ours, Theirs} {
				r.Add(scenarios.Case{Scenario: scenarios.Filling}, core, result(1, 1))
			}
		}
		return r
	}
	all := of("small", "a", 1)
	assert.Equal(t, all.Runs(), "1 run")
	large := of("large", "b", 2)
	large.Add(scenarios.Case{Scenario: scenarios.Full}, Ours, result(1, 1))
	all.Merge(large)
	assert.Equal(t, len(all.Cases), 2)
	all.Cases = all.Cases[:1]
	all.Merge(of("small", "a", 1))
	assert.Equal(t, all.Machine, "small; large")
	assert.Equal(t, all.At+all.Go+all.Command, "2026-01-01go1.26narwhal-bench")
	assert.DeepEqual(t, all.Versions, map[string]string{Ours: "a; b", Theirs: "v1.9.0"})
	assert.Equal(t, all.Runs(), "4 runs")
	all.Add(scenarios.Case{Scenario: scenarios.Churn}, Ours, result(1, 1))
	assert.Equal(t, all.Runs(), "0 to 4 runs")
	empty := new(Report)
	empty.Merge(of("small", "a", 1))
	assert.Equal(t, empty.Machine, "small")
}
