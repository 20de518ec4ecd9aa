package plot_test

import (
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/plot"
)

func text(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// ticksOf is the values of the ticks of an axis.
func ticksOf(a plot.Axis, most int) (at []float64) {
	for _, t := range a.Ticks(most) {
		at = append(at, t.At)
	}
	return at
}

// An axis of powers begins and ends at one, and has as few ticks as are asked for.
func TestPowers(t *testing.T) {
	a := plot.Powers("pods", []float64{0, 30, 2500}, text)
	assert.Equal(t, a.Least, 10.0)
	assert.Equal(t, a.Most, 10_000.0)
	assert.DeepEqual(t, ticksOf(a, 6), []float64{10, 100, 1000, 10_000})
	assert.DeepEqual(t, ticksOf(a, 2), []float64{10, 1000})
	exact := plot.Powers("pods", []float64{100, 1000}, text)
	assert.DeepEqual(t, ticksOf(exact, 6), []float64{100, 1000})
	assert.DeepEqual(t, ticksOf(plot.Powers("pods", nil, text), 6), []float64{1, 10})
	assert.DeepEqual(t, ticksOf(plot.Powers("pods", []float64{0.5}, text), 6), []float64{0.1, 1})
}

func TestRoundNumbers(t *testing.T) {
	assert.Equal(t, plot.RoundStep(100, 1, 6), 20.0)
	assert.Equal(t, plot.RoundStep(3, 1, 6), 1.0)
	assert.Equal(t, plot.RoundStep(0.3, 0.1, 6), 0.1)
	assert.Equal(t, plot.RoundUp(41, 20), 60.0)
	assert.Equal(t, plot.RoundUp(0, 20), 20.0)
}

// Points are where they belong: on a logarithmic axis each power has the same room.
func TestLogarithmicChart(t *testing.T) {
	axis := plot.Powers("", []float64{1, 100}, text)
	c := plot.Chart{X: axis, Y: axis, Lines: []plot.Line{{Class: "c0", Dots: true, Points: []plot.Point{{X: 1, Y: 1}, {X: 10, Y: 10}, {X: 100, Y: 100}}}}}
	drawn := string(c.SVG())
	assert.Assert(t, strings.Contains(drawn, `points="52.0,256.0 538.0,141.0 1024.0,26.0 "`), drawn)
	assert.Equal(t, strings.Count(drawn, "<circle"), 2*3)
}

// Bars begin at one, and names and texts are escaped.
func TestBars(t *testing.T) {
	b := plot.Bars{Axis: plot.Powers("", []float64{0.1, 1, 10}, text), Rows: []plot.Bar{
		{Name: "better", Text: "10 <times>", Class: "c0", Value: 10}, {Name: "worse", Text: "0.1", Class: "c7", Value: 0.1},
	}}
	drawn := string(b.SVG())
	assert.Assert(t, strings.Contains(drawn, "10 &lt;times&gt;"))
	assert.Assert(t, strings.Contains(drawn, `<rect class="fill c0" x="672.0" y="15.0" width="298.0"`), drawn)
	assert.Assert(t, strings.Contains(drawn, `<rect class="fill c7" x="374.0" y="39.0" width="298.0"`), drawn)
}

// A name that is longer than most has its room, and one that is longer than any page leaves room for
// the bars.
func TestLongNamesOfBars(t *testing.T) {
	for _, c := range []struct {
		letters int
		begins  string
	}{{40, `x="374.0"`}, {60, `x="404.0"`}, {600, `x="524.0"`}} {
		b := plot.Bars{Axis: plot.Powers("", []float64{1, 10}, text), Rows: []plot.Bar{
			{Name: strings.Repeat("n", c.letters), Class: "c0", Value: 10}, {Name: "short", Class: "c0", Value: 2},
		}}
		assert.Equal(t, strings.Count(string(b.SVG()), `<rect class="fill c0" `+c.begins), 2, "%d", c.letters)
	}
}
