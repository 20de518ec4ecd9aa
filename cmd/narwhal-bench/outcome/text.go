package outcome

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WriteText writes the table, which is one of Markdown too, and what was wrong.
func (r *Report) WriteText(to io.Writer) error {
	lines := r.lines()
	var b strings.Builder
	b.WriteString(aligned(slices.Insert(lines, 1, nil)))
	for _, core := range []string{Ours, Theirs} {
		for _, fault := range r.Faults(core) {
			fmt.Fprintf(&b, "\n%s: %s", core, fault)
		}
	}
	b.WriteString("\n")
	_, err := io.WriteString(to, b.String())
	return err
}

// lines is the head of the table and a line for each row. A load is named once.
func (r *Report) lines() [][]string {
	lines := [][]string{{"load", "figure", "unit", "Narwhal", "range", "YuniKorn", "range", "times"}}
	before := ""
	for _, row := range r.Rows() {
		name := row.Case
		if name == before {
			name = ""
		}
		before = row.Case
		lines = append(lines, []string{
			name, row.Figure, row.Unit, row.Ours.text(row.Unit), row.Ours.span(row.Unit),
			row.Theirs.text(row.Unit), row.Theirs.span(row.Unit), times(row.Ratio),
		})
	}
	return lines
}

// wordColumns are those that are read from the left.
const wordColumns = 3

// aligned writes a table of Markdown; the line that is nil is the rule under the head.
func aligned(lines [][]string) string {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, width := range widths {
			switch {
			case line == nil && i < wordColumns:
				b.WriteString("|" + strings.Repeat("-", width+2))
			case line == nil:
				b.WriteString("|" + strings.Repeat("-", width+1) + ":")
			case i < wordColumns:
				b.WriteString("| " + line[i] + strings.Repeat(" ", width-utf8.RuneCountInString(line[i])) + " ")
			default:
				b.WriteString("| " + strings.Repeat(" ", width-utf8.RuneCountInString(line[i])) + line[i] + " ")
			}
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// text is the median. A core that was wrong in a run has a mark, and one that has no value
// did not come to it.
func (s Spread) text(unit string) string {
	mark := ""
	if s.Faulty > 0 {
		mark = " (!)"
	}
	if s.Runs == 0 {
		return "–" + mark
	}
	return value(s.Median, unit) + mark
}

// span is the range, if there is one.
func (s Spread) span(unit string) string {
	least, most := value(s.Least, unit), value(s.Most, unit)
	if s.Runs < 2 || least == most {
		return ""
	}
	return least + "–" + most
}

func times(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return number(ratio)
}

// value is a figure. What has no unit and is whole was counted, and all its digits are true; all
// else was measured.
func value(v float64, unit string) string {
	if unit == "" && v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return thousands(int64(v))
	}
	return number(v)
}

// number has three digits that count, and thousands set apart. A small whole number has no
// zeros behind it.
func number(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits > 0 {
		if v == math.Trunc(v) {
			digits = 0
		}
		return strconv.FormatFloat(v, 'f', digits, 64)
	}
	scale := math.Pow(10, float64(-digits))
	return thousands(int64(math.Round(v/scale) * scale))
}

func thousands(v int64) string {
	text := strconv.FormatInt(v, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Cells are the medians of both cores and how many times better ours is, as the table has them.
func (r Row) Cells() (ours, theirs, times string) {
	return r.Ours.text(r.Unit), r.Theirs.text(r.Unit), number(r.Ratio)
}
