package report

import (
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/plot"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// A chart is quantities over virtual time.
type chart struct {
	Title string
	Note  string
	unit  string // of the vertical axis
	sign  string // behind the numbers of that axis: "%" or nothing
	whole bool   // the quantities are counts
	top   float64
	stack bool    // the lines are areas on top of each other
	over  []line  // drawn over areas, and not stacked
	level float64 // of a dashed line; zero is none
	step  time.Duration
	end   time.Duration
	Lines []line
	marks []plot.Mark // moments that are of importance for all charts
}

// A line is one quantity: its mean, or its most, in each step.
type line struct {
	Name   string
	Class  string // of the style sheet
	area   bool
	values []float64
}

// SVG draws the chart.
func (c chart) SVG() template.HTML { return c.plot().SVG() }

// Legend is the lines to name.
func (c chart) Legend() []plot.Line { return c.plot().Legend() }

// Empty reports whether there is nothing to see.
func (c chart) Empty() bool {
	return !slices.ContainsFunc(c.Lines, func(l line) bool {
		return slices.ContainsFunc(l.values, func(v float64) bool { return v != 0 })
	})
}

// ID is the anchor of the chart.
func (c chart) ID() string { return anchor("chart", c.Title) }

// plot is the chart as it is drawn.
func (c chart) plot() plot.Chart {
	return plot.Chart{
		Title: c.Title, Note: c.Note, Stack: c.stack, Marks: c.marks, X: timeAxis(c.end), Y: c.valueAxis(),
		Lines: c.drawn(c.Lines), Over: c.drawn(c.over), Level: c.level,
	}
}

func (c chart) drawn(lines []line) (drawn []plot.Line) {
	for _, l := range lines {
		drawn = append(drawn, plot.Line{Name: l.Name, Class: l.Class, Area: l.area, Points: c.points(l)})
	}
	return drawn
}

// points go through the middle of each step, from the beginning to the end.
func (c chart) points(l line) []plot.Point {
	steps := c.steps()
	if steps == 0 {
		return nil
	}
	points := []plot.Point{{X: 0, Y: l.at(0)}}
	for i := range steps {
		points = append(points, plot.Point{X: float64(c.step*time.Duration(i) + c.step/2), Y: l.at(i)})
	}
	return append(points, plot.Point{X: float64(lasts(c.end)), Y: l.at(steps - 1)})
}

// lasts is how long a chart is, which is not nothing.
func lasts(end time.Duration) time.Duration { return max(end, time.Second) }

func timeAxis(end time.Duration) plot.Axis {
	end = lasts(end)
	return plot.Axis{
		Unit: "virtual time", Most: float64(end),
		Ticks: func(most int) (ticks []plot.Tick) {
			each := timeStep(end, most)
			for at := time.Duration(0); at <= end; at += each {
				ticks = append(ticks, plot.Tick{At: float64(at), Text: simulator.Clock(at)})
			}
			return ticks
		},
	}
}

func (c chart) valueAxis() plot.Axis {
	step := plot.RoundStep(c.highest(), c.leastStep(), 6)
	top := plot.RoundUp(c.highest(), step)
	return plot.Axis{
		Unit: c.unit, Most: top,
		Ticks: func(int) (ticks []plot.Tick) {
			for i := 0; float64(i)*step <= top+step/2; i++ {
				value := float64(i) * step
				ticks = append(ticks, plot.Tick{At: value, Text: c.label(value, step)})
			}
			return ticks
		},
	}
}

// leastStep is the least that two numbers of the vertical axis may differ by.
func (c chart) leastStep() float64 {
	if c.whole {
		return 1
	}
	return 0.001
}

// highest is the top of the vertical axis, before it is rounded.
func (c chart) highest() float64 {
	most := c.top
	for i := range c.steps() {
		sum := 0.0
		for _, l := range c.Lines {
			if c.stack {
				sum += l.at(i)
			} else {
				sum = max(sum, l.at(i))
			}
		}
		for _, l := range c.over {
			sum = max(sum, l.at(i))
		}
		most = max(most, sum)
	}
	return max(most, c.leastStep())
}

func (c chart) steps() int {
	n := 0
	for _, lines := range [][]line{c.Lines, c.over} {
		for _, l := range lines {
			n = max(n, len(l.values))
		}
	}
	return n
}

// at is the value of a step; a series that ends early continues with zeros.
func (l line) at(i int) float64 {
	if i >= len(l.values) {
		return 0
	}
	return l.values[i]
}

// label writes a value with as many digits as the step needs.
func (c chart) label(value, step float64) string {
	digits := 0
	for ; step < 1 && digits < 3; step *= 10 {
		digits++
	}
	if digits == 0 {
		return simulator.Thousands(int64(value+0.5)) + c.sign
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + c.sign
}
