package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// counts are the faults of one package by outcome.
type counts struct {
	name                                       string
	faults, killed, timedOut, survived, listed int
	same                                       int // listed, and the program does the same
}

func (c *counts) add(other counts) {
	c.faults += other.faults
	c.killed += other.killed
	c.timedOut += other.timedOut
	c.survived += other.survived
	c.listed += other.listed
	c.same += other.same
}

// found is the part of the faults that change behaviour and were found, in tenths of
// a percent, rounded down.
func (c *counts) found() string {
	if c.faults == c.same {
		return "-"
	}
	n := (c.killed + c.timedOut) * 1000 / (c.faults - c.same)
	return fmt.Sprintf("%d.%d %%", n/10, n%10)
}

// table prints the counts in Markdown, aligned.
func table(all []counts) string {
	total := counts{name: "all"}
	rows := [][]string{{"Package", "Faults", "Killed", "Timed out", "Survived", "Of them listed", "Of them the same", "Found of the rest"}}
	for _, c := range all {
		total.add(c)
		rows = append(rows, c.row())
	}
	rows = append(rows, total.row())
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for i, row := range rows {
		for column, cell := range row {
			if column == 0 {
				fmt.Fprintf(&b, "| %-*s |", widths[column], cell)
			} else {
				fmt.Fprintf(&b, " %*s |", widths[column], cell)
			}
		}
		b.WriteByte('\n')
		if i == 0 {
			for column, width := range widths {
				if column == 0 {
					b.WriteString("|" + strings.Repeat("-", width+2) + "|")
				} else {
					b.WriteString(strings.Repeat("-", width+1) + ":|")
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (c *counts) row() []string {
	row := []string{c.name}
	for _, n := range []int{c.faults, c.killed, c.timedOut, c.survived, c.listed, c.same} {
		row = append(row, fmt.Sprint(n))
	}
	return append(row, c.found())
}
