package plot

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
)

// Style is the style sheet of charts and of the page around them.
//
//go:embed style.css
var Style template.CSS

// A Chart is lines over a common axis.
type Chart struct {
	Title, Note string
	X, Y        Axis
	Stack       bool // the lines are areas on top of each other, with points at the same places
	Lines       []Line
	Over        []Line  // drawn over areas, and not stacked
	Level       float64 // of a dashed line across the chart; zero is none
	Marks       []Mark
}

// A Line is a quantity. Class names its colour: c0 to c7, other, or foreign.
type Line struct {
	Name   string
	Class  string
	Area   bool // what is below it is filled
	Dots   bool // its points are measured, and shown
	Points []Point
}

// A Point is a value of both axes.
type Point struct{ X, Y float64 }

// A Mark is a place on the horizontal axis, with a text.
type Mark struct {
	At   float64
	Text string
}

// A size is how a chart is laid out. Every chart is drawn twice, as text in a
// drawing shrinks with it: the style sheet shows the one that fits.
type size struct {
	class         string
	width, height float64
	left, right   float64
	above, below  float64
	ticks         int // at most, on the horizontal axis
}

var (
	wide   = size{class: "wide", width: 1040, height: 300, left: 52, right: 16, above: 26, below: 44, ticks: 10}
	narrow = size{class: "narrow", width: 370, height: 260, left: 44, right: 14, above: 26, below: 44, ticks: 4}
)

// verticalTicks is the most ticks on the vertical axis.
const verticalTicks = 6

// SVG draws the chart in both sizes.
func (c Chart) SVG() template.HTML {
	return template.HTML(c.draw(wide) + c.draw(narrow)) //nolint:gosec // every text in it is escaped by draw
}

// Legend is the lines to name: not a single one of which the title says all.
func (c Chart) Legend() []Line {
	if len(c.Lines)+len(c.Over) < 2 && c.Level == 0 {
		return nil
	}
	return slices.Concat(c.Lines, c.Over)
}

// A canvas is a drawing under way.
type canvas struct {
	strings.Builder
	size
	across, up Axis
}

func (v *canvas) begin(title string) {
	fmt.Fprintf(v, `<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`,
		v.class, v.width, v.height, html.EscapeString(title))
}

func (c Chart) draw(s size) string {
	v := &canvas{size: s, across: c.X, up: c.Y}
	v.begin(c.Title)
	v.grid()
	if c.Stack {
		c.areas(v)
	} else {
		for _, l := range c.Lines {
			l.draw(v)
		}
	}
	for _, l := range c.Over {
		l.draw(v)
	}
	if c.Level > 0 && c.Level <= c.Y.Most {
		fmt.Fprintf(v, `<line class="level" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.left, v.y(c.Level), v.width-v.right, v.y(c.Level))
	}
	c.drawMarks(v)
	v.WriteString("</svg>")
	return v.String()
}

func (v *canvas) x(at float64) float64 { return v.left + (v.width-v.left-v.right)*v.across.part(at) }

func (v *canvas) y(value float64) float64 {
	return v.height - v.below - (v.height-v.above-v.below)*v.up.part(value)
}

// grid draws the axes with their ticks and units.
func (v *canvas) grid() {
	right, bottom := v.width-v.right, v.height-v.below
	for _, t := range v.up.Ticks(verticalTicks) {
		fmt.Fprintf(v, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.left, v.y(t.At), right, v.y(t.At))
		fmt.Fprintf(v, `<text class="tick" text-anchor="end" x="%.1f" y="%.1f">%s</text>`, v.left-6, v.y(t.At)+4, html.EscapeString(t.Text))
	}
	for _, t := range v.across.Ticks(v.ticks) {
		fmt.Fprintf(v, `<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.x(t.At), bottom, v.x(t.At), bottom+4)
		fmt.Fprintf(v, `<text class="tick" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, v.x(t.At), bottom+17, html.EscapeString(t.Text))
	}
	fmt.Fprintf(v, `<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.left, bottom, right, bottom)
	fmt.Fprintf(v, `<text class="unit" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, (v.left+right)/2, v.height-8, html.EscapeString(v.across.Unit))
	fmt.Fprintf(v, `<text class="unit" x="2" y="12">%s</text>`, html.EscapeString(v.up.Unit))
}

// points writes places for an attribute of an element.
func (v *canvas) points(points []Point, backwards bool) {
	for i := range points {
		p := points[i]
		if backwards {
			p = points[len(points)-1-i]
		}
		fmt.Fprintf(v, "%.1f,%.1f ", v.x(p.X), v.y(p.Y))
	}
}

// between draws an area between two lines.
func (v *canvas) between(class string, above, below []Point) {
	fmt.Fprintf(v, `<polygon class="%s" points="`, class)
	v.points(above, false)
	v.points(below, true)
	v.WriteString(`"/>`)
}

func (l Line) draw(v *canvas) {
	if len(l.Points) == 0 {
		return
	}
	if l.Area {
		v.between("area "+l.Class, l.Points, flat(l.Points))
	}
	fmt.Fprintf(v, `<polyline class="line %s" points="`, l.Class)
	v.points(l.Points, false)
	v.WriteString(`"/>`)
	if l.Dots {
		for _, p := range l.Points {
			fmt.Fprintf(v, `<circle class="fill %s" cx="%.1f" cy="%.1f" r="3.5"/>`, l.Class, v.x(p.X), v.y(p.Y))
		}
	}
}

// flat is a line of zeros below another.
func flat(points []Point) []Point {
	zeros := make([]Point, len(points))
	for i, p := range points {
		zeros[i].X = p.X
	}
	return zeros
}

// areas draws the lines on top of each other, the first at the bottom.
func (c Chart) areas(v *canvas) {
	if len(c.Lines) == 0 || len(c.Lines[0].Points) == 0 {
		return
	}
	below := flat(c.Lines[0].Points)
	for _, l := range c.Lines {
		above := make([]Point, len(below))
		for i, p := range l.Points {
			above[i] = Point{p.X, below[i].Y + p.Y}
		}
		v.between("fill "+l.Class, above, below)
		below = above
	}
}

// textWidth is about how wide a text is drawn.
func textWidth(text string) float64 { return 6.5 * float64(len(text)) }

// drawMarks draws the marks, and says what they are where there is room.
func (c Chart) drawMarks(v *canvas) {
	free := textWidth(v.up.Unit) + 12
	for _, m := range c.Marks {
		x := v.x(m.At)
		fmt.Fprintf(v, `<line class="mark" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x, v.above-9, x, v.height-v.below)
		width := textWidth(m.Text)
		start := x
		if start+width > v.width {
			start = v.width - width
		}
		if start >= free {
			fmt.Fprintf(v, `<text class="note" x="%.1f" y="%.1f">%s</text>`, start, 12.0, html.EscapeString(m.Text))
			free = start + width + 8
		}
	}
}
