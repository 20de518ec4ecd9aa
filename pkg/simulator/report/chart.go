package report

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

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
	marks []mark
}

// A line is one quantity: its mean, or its most, in each step.
type line struct {
	Name   string
	Class  string // of the style sheet
	area   bool
	values []float64
}

// A mark is a moment that is of importance for all charts.
type mark struct {
	at   time.Duration
	text string
}

// A size is how a chart is laid out. Every chart is drawn twice, as text in a
// drawing shrinks with it: the style sheet shows the one that fits.
type size struct {
	class         string
	width, height float64
	left, right   float64
	above, below  float64
	ticks         int // at most, on the time axis
}

var (
	wide   = size{class: "wide", width: 1040, height: 300, left: 52, right: 16, above: 26, below: 44, ticks: 10}
	narrow = size{class: "narrow", width: 370, height: 260, left: 44, right: 14, above: 26, below: 44, ticks: 4}
)

// SVG draws the chart in both sizes.
func (c chart) SVG() template.HTML {
	return template.HTML(c.draw(wide) + c.draw(narrow)) //nolint:gosec // every text in it is escaped by draw
}

// Legend is the lines to name: not a single one of which the title says all.
func (c chart) Legend() []line {
	all := append(slices.Clone(c.Lines), c.over...)
	if len(all) < 2 && c.level == 0 {
		return nil
	}
	return all
}

// Empty reports whether there is nothing to see.
func (c chart) Empty() bool {
	for _, l := range c.Lines {
		for _, v := range l.values {
			if v != 0 {
				return false
			}
		}
	}
	return true
}

// ID is the anchor of the chart.
func (c chart) ID() string { return anchor("chart", c.Title) }

// A canvas is a drawing under way.
type canvas struct {
	strings.Builder
	size
	end time.Duration
	top float64
}

func (c chart) draw(s size) string {
	v := &canvas{size: s, end: max(c.end, time.Second)}
	step := valueStep(c.highest(), c.leastStep(), 6)
	v.top = ceil(c.highest(), step)
	fmt.Fprintf(v, `<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`,
		s.class, s.width, s.height, html.EscapeString(c.Title))
	c.grid(v, step)
	if c.stack {
		c.areas(v)
	} else {
		for _, l := range c.Lines {
			c.curve(v, l)
		}
	}
	for _, l := range c.over {
		c.curve(v, l)
	}
	if c.level > 0 && c.level <= v.top {
		fmt.Fprintf(v, `<line class="level" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.left, v.y(c.level), v.width-v.right, v.y(c.level))
	}
	c.drawMarks(v)
	v.WriteString("</svg>")
	return v.String()
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
	for i := range c.points() {
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

func (c chart) points() int {
	n := 0
	for _, l := range append(slices.Clone(c.Lines), c.over...) {
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

func (v *canvas) x(at time.Duration) float64 {
	return v.left + (v.width-v.left-v.right)*float64(min(at, v.end))/float64(v.end)
}

func (v *canvas) y(value float64) float64 {
	return v.height - v.below - (v.height-v.above-v.below)*value/v.top
}

// grid draws the axes with their ticks and units.
func (c chart) grid(v *canvas, step float64) {
	right, bottom := v.width-v.right, v.height-v.below
	for i := 0; float64(i)*step <= v.top+step/2; i++ {
		value := float64(i) * step
		fmt.Fprintf(v, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.left, v.y(value), right, v.y(value))
		fmt.Fprintf(v, `<text class="tick" text-anchor="end" x="%.1f" y="%.1f">%s</text>`, v.left-6, v.y(value)+4, c.label(value, step))
	}
	each := timeStep(v.end, v.ticks)
	for at := time.Duration(0); at <= v.end; at += each {
		fmt.Fprintf(v, `<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.x(at), bottom, v.x(at), bottom+4)
		fmt.Fprintf(v, `<text class="tick" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, v.x(at), bottom+17, simulator.Clock(at))
	}
	fmt.Fprintf(v, `<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.left, bottom, right, bottom)
	fmt.Fprintf(v, `<text class="unit" text-anchor="middle" x="%.1f" y="%.1f">virtual time</text>`, (v.left+right)/2, v.height-8)
	fmt.Fprintf(v, `<text class="unit" x="2" y="12">%s</text>`, html.EscapeString(c.unit))
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

// path draws through the middle of each step, from the beginning to the end.
func (c chart) path(v *canvas, values func(int) float64, backwards bool) {
	n := c.points()
	point := func(at time.Duration, i int) {
		fmt.Fprintf(v, "%.1f,%.1f ", v.x(at), v.y(values(i)))
	}
	steps := make([]int, n)
	for i := range steps {
		steps[i] = i
		if backwards {
			steps[i] = n - 1 - i
		}
	}
	ends := [2]time.Duration{0, v.end}
	if backwards {
		ends = [2]time.Duration{v.end, 0}
	}
	point(ends[0], steps[0])
	for _, i := range steps {
		point(c.step*time.Duration(i)+c.step/2, i)
	}
	point(ends[1], steps[n-1])
}

func (c chart) curve(v *canvas, l line) {
	if c.points() == 0 {
		return
	}
	if l.area {
		fmt.Fprintf(v, `<polygon class="area %s" points="`, l.Class)
		c.path(v, l.at, false)
		c.path(v, func(int) float64 { return 0 }, true)
		v.WriteString(`"/>`)
	}
	fmt.Fprintf(v, `<polyline class="line %s" points="`, l.Class)
	c.path(v, l.at, false)
	v.WriteString(`"/>`)
}

// areas draws the lines on top of each other, the first at the bottom.
func (c chart) areas(v *canvas) {
	if c.points() == 0 {
		return
	}
	below := make([]float64, c.points())
	for _, l := range c.Lines {
		above := make([]float64, len(below))
		for i := range above {
			above[i] = below[i] + l.at(i)
		}
		fmt.Fprintf(v, `<polygon class="fill %s" points="`, l.Class)
		c.path(v, func(i int) float64 { return above[i] }, false)
		c.path(v, func(i int) float64 { return below[i] }, true)
		v.WriteString(`"/>`)
		below = above
	}
}

// textWidth is about how wide a text is drawn.
func textWidth(text string) float64 { return 6.5 * float64(len(text)) }

// drawMarks draws the incidents, and says what they are where there is room.
func (c chart) drawMarks(v *canvas) {
	free := textWidth(c.unit) + 12
	for _, m := range c.marks {
		x := v.x(m.at)
		fmt.Fprintf(v, `<line class="mark" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x, v.above-9, x, v.height-v.below)
		width := textWidth(m.text)
		start := x
		if start+width > v.width {
			start = v.width - width
		}
		if start >= free {
			fmt.Fprintf(v, `<text class="note" x="%.1f" y="%.1f">%s</text>`, start, 12.0, html.EscapeString(m.text))
			free = start + width + 8
		}
	}
}
