package report

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/plot"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// A chart is quantities over virtual time.
type chart struct {
	Title string
	Note  string
	unit  string // of the vertical axis
	whole bool   // the quantities are counts
	top   float64
	stack bool // the lines are areas on top of each other
	step  time.Duration
	end   time.Duration
	lines []line
	marks []plot.Mark // moments that are of importance for all charts
}

// A line is one quantity: its mean, or its most, in each step.
type line struct {
	name   string
	class  string // of the style sheet
	area   bool
	values []float64
}

// plot is the chart as it is drawn.
func (c chart) plot() plot.Chart {
	drawn := plot.Chart{Title: c.Title, Note: c.Note, Stack: c.stack, Marks: c.marks, X: timeAxis(c.end), Y: c.valueAxis()}
	for _, l := range c.lines {
		drawn.Lines = append(drawn.Lines, plot.Line{Name: l.name, Class: l.class, Area: l.area, Points: c.points(l)})
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
	least := 0.1
	if c.whole {
		least = 1
	}
	step := plot.RoundStep(c.highest(), least, 6)
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

// highest is the top of the vertical axis, before it is rounded.
func (c chart) highest() float64 {
	most := c.top
	for i := range c.steps() {
		sum := 0.0
		for _, l := range c.lines {
			if c.stack {
				sum += l.at(i)
			} else {
				sum = max(sum, l.at(i))
			}
		}
		most = max(most, sum)
	}
	return max(most, 1)
}

func (c chart) steps() int {
	n := 0
	for _, l := range c.lines {
		n = max(n, len(l.values))
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

func (c chart) label(value, step float64) string {
	if c.whole {
		return simulator.Thousands(int64(value + 0.5))
	}
	if step < 1 {
		return fmt.Sprintf("%.1f%%", value)
	}
	return fmt.Sprintf("%.0f%%", value)
}
