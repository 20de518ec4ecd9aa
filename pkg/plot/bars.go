package plot

import (
	"fmt"
	"html"
	"html/template"
)

// Bars is a bar for each of several numbers above zero, on a logarithmic axis. Bars that begin
// at one go to the right where the number is above it.
type Bars struct {
	Title, Note string
	Axis        Axis
	Rows        []Bar
}

// A Bar is a number, and the text beside it.
type Bar struct {
	Name, Text, Class string
	Value             float64
}

// SVG draws the bars in both sizes.
func (b Bars) SVG() template.HTML {
	return template.HTML(b.draw(wide) + b.draw(narrow)) //nolint:gosec // every text in it is escaped by draw
}

// What a row of bars takes.
const (
	rowHeight = 24.0
	barHeight = 14.0
)

// nameWidthMin and nameWidthMax bound the room for the names, so that bars of several pages
// begin at one place as long as their names are short, and no name takes the room of the bars.
const nameWidthMin, nameWidthMax = 370.0, 520.0

// nameWidth is the room that the longest name needs.
func (b Bars) nameWidth() float64 {
	width := nameWidthMin
	for _, row := range b.Rows {
		width = max(width, textWidth(row.Name)+10)
	}
	return min(width, nameWidthMax)
}

// draw has names beside the bars on a wide screen and above them on a narrow one.
func (b Bars) draw(s size) string {
	each, left, beside := rowHeight, b.nameWidth(), true
	if s.class == narrow.class {
		each, left, beside = rowHeight+16, 0, false
	}
	s.left, s.right, s.above, s.below = left+4, 70, 10, 30
	s.height = s.above + s.below + each*float64(len(b.Rows))
	v := &canvas{size: s, across: b.Axis}
	v.begin(b.Title)
	bottom := v.height - v.below
	for _, t := range b.Axis.Ticks(v.ticks) {
		fmt.Fprintf(v, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.x(t.At), v.above, v.x(t.At), bottom)
		fmt.Fprintf(v, `<text class="tick" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, v.x(t.At), bottom+17, html.EscapeString(t.Text))
	}
	fmt.Fprintf(v, `<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, v.x(1), v.above, v.x(1), bottom)
	for i, row := range b.Rows {
		row.draw(v, v.above+each*float64(i+1)-rowHeight, beside)
	}
	v.WriteString("</svg>")
	return v.String()
}

func (r Bar) draw(v *canvas, top float64, beside bool) {
	from, to := v.x(1), v.x(r.Value)
	middle := top + rowHeight/2 + 4
	if beside {
		fmt.Fprintf(v, `<text class="tick" text-anchor="end" x="%.1f" y="%.1f">%s</text>`, v.left-10, middle, html.EscapeString(r.Name))
	} else {
		fmt.Fprintf(v, `<text class="tick over" x="%.1f" y="%.1f">%s</text>`, v.left, top, html.EscapeString(r.Name))
	}
	fmt.Fprintf(v, `<rect class="fill %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`,
		r.Class, min(from, to), top+(rowHeight-barHeight)/2, max(1, max(from, to)-min(from, to)), barHeight)
	fmt.Fprintf(v, `<text class="tick" x="%.1f" y="%.1f">%s</text>`, max(from, to)+6, middle, html.EscapeString(r.Text))
}
