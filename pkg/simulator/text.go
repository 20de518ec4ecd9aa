package simulator

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteText writes the summary for people to read in a terminal.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of virtual time, seed %d\n", r.Scenario, Clock(r.Time.Duration()), r.Seed)
	if r.Description != "" {
		b.WriteString(r.Description + "\n")
	}
	b.WriteString("\n" + r.Headline() + "\n")
	for _, t := range r.Tables(false) {
		b.WriteString("\n" + t.text())
	}
	b.WriteString(r.Preemption.explanations())
	_, err := io.WriteString(w, b.String())
	return err
}

// text aligns the columns: words to the left, numbers to the right.
func (t Table) text() string {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	b.WriteString(strings.ToUpper(t.Title) + "\n")
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		var line strings.Builder
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < t.Words {
				line.WriteString("  " + cell + gap)
			} else {
				line.WriteString("  " + gap + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
