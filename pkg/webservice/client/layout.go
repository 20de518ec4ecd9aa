package client

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Layout is how a table is written.
type Layout struct {
	Width  int  // columns of the terminal, which lines keep to as far as they can; zero is unlimited
	Colour bool // rows that need attention are coloured
}

// A Tone is how much attention a row needs.
type Tone uint8

// The tones, the least attention first.
const (
	Plain Tone = iota
	Warning
	Bad
)

// escapes are the sequences that terminals take as colours.
var escapes = [...]string{Warning: "\x1b[33m", Bad: "\x1b[31m"}

const (
	bold  = "\x1b[1m"
	reset = "\x1b[0m"

	gapWide, gapNarrow = 3, 1 // between two columns
	columnMin          = 10   // the least width to which a column shrinks: that of a day
)

// A Table is rows of cells below headings.
type Table struct {
	Headings []string
	Rows     [][]string

	numbers []int // columns that are aligned to the right
	tones   []Tone
	below   string // a line about all of it, if it is not empty
}

// Write writes the table with columns as wide as they need to be.
func (t *Table) Write(out io.Writer) error { return t.WriteIn(out, Layout{}) }

// WriteIn writes the table in a layout. Cells that are too long go on in the next line, so
// that nothing is cut.
func (t *Table) WriteIn(out io.Writer, l Layout) error {
	widths, gap := t.fit(l.Width)
	var b strings.Builder
	t.writeRow(&b, t.Headings, widths, gap, emphasis(l.Colour, bold))
	for i, row := range t.Rows {
		t.writeRow(&b, row, widths, gap, emphasis(l.Colour, escapes[t.tone(i)]))
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	return t.WriteBelow(out)
}

// WriteBelow writes what is said of the whole table, which is true of an empty one, too. Most say nothing.
func (t *Table) WriteBelow(out io.Writer) error {
	if t.below == "" {
		return nil
	}
	_, err := fmt.Fprintln(out, "\n"+t.below)
	return err
}

func emphasis(colour bool, escape string) string {
	if !colour {
		return ""
	}
	return escape
}

func (t *Table) tone(row int) Tone {
	if row < len(t.tones) {
		return t.tones[row]
	}
	return Plain
}

// add adds a row that needs no attention.
func (t *Table) add(cells ...string) { t.addIn(Plain, cells...) }

func (t *Table) addIn(tone Tone, cells ...string) {
	t.Rows = append(t.Rows, cells)
	t.tones = append(t.tones, tone)
}

// fit is how wide the columns are, and the gap between them. If they are too wide, the
// widest are broken at words, then within words where they can be, then anywhere.
func (t *Table) fit(width int) (widths []int, gap int) {
	longest, pieces := make([]int, len(t.Headings)), make([]int, len(t.Headings)) // word of each column, and part of a word
	widths = make([]int, len(t.Headings))
	for _, row := range append([][]string{t.Headings}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			indent := len(cell) - len(strings.TrimLeft(cell, " "))
			for word := range strings.FieldsSeq(cell) {
				longest[i] = max(longest[i], indent+utf8.RuneCountInString(word))
				pieces[i] = max(pieces[i], indent+longestPiece([]rune(word)))
			}
		}
	}
	if width <= 0 {
		return widths, gapWide
	}
	least := make([]int, len(widths))
	for i, heading := range t.Headings {
		least[i] = max(columnMin, utf8.RuneCountInString(heading))
	}
	for _, unbroken := range [][]int{longest, pieces} {
		for gap = gapWide; gap >= gapNarrow; gap-- {
			narrowed := slices.Clone(widths)
			if shrink(narrowed, unbroken, width-gap*(len(widths)-1)) {
				return narrowed, gap
			}
		}
	}
	shrink(widths, least, width-gapNarrow*(len(widths)-1))
	return widths, gapNarrow
}

// shrink narrows the widest columns, though not below the least widths, until they fit
// together, and reports whether they do.
func shrink(widths, least []int, together int) bool {
	total := 0
	for _, w := range widths {
		total += w
	}
	for total > together {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
		total--
	}
	return true
}

// writeRow writes one row, in as many lines as its longest cell needs.
func (t *Table) writeRow(b *strings.Builder, row []string, widths []int, gap int, escape string) {
	cells, lines := make([][]string, len(row)), 1
	for i, cell := range row {
		cells[i] = wrap(cell, widths[i])
		lines = max(lines, len(cells[i]))
	}
	for n := range lines {
		var line strings.Builder
		for i, parts := range cells {
			part := ""
			if n < len(parts) {
				part = parts[n]
			}
			fill := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(part)))
			if slices.Contains(t.numbers, i) {
				part = fill + part
			} else {
				part += fill
			}
			line.WriteString(part + strings.Repeat(" ", gap))
		}
		text := strings.TrimRight(line.String(), " ")
		if escape != "" {
			text = escape + text + reset
		}
		b.WriteString(text + "\n")
	}
}

// breaks says whether a word may be broken between two letters: where a part of a name ends, or at least at a hyphen. Numbers and days
// have no such place.
func breaks(before, after rune) (name, hyphen bool) {
	letter := unicode.IsLetter(after)
	return before == '/' || before == '=' || (before == '.' || before == ':') && letter, before == '-' && letter
}

// breakOf is after how many letters a word is broken that has more than the room: as late as it may be, or where the room ends.
func breakOf(word []rune, room int) int {
	atName, atHyphen := 0, 0
	for i := 1; i <= room; i++ {
		if name, hyphen := breaks(word[i-1], word[i]); name {
			atName = i
		} else if hyphen {
			atHyphen = i
		}
	}
	return cmp.Or(atName, atHyphen, room)
}

// longestPiece is how long the longest part of a word is within which it may not be broken.
func longestPiece(word []rune) (longest int) {
	begin := 0
	for i := 1; i < len(word); i++ {
		if name, hyphen := breaks(word[i-1], word[i]); name || hyphen {
			longest, begin = max(longest, i-begin), i
		}
	}
	return max(longest, len(word)-begin)
}

// wrap breaks a text into lines of a width, at words where that is possible. All lines
// are indented as the first one is.
func wrap(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	bare := strings.TrimLeft(text, " ")
	indent := text[:len(text)-len(bare)]
	room := max(1, width-len(indent))
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(bare) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= room {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, indent+line)
		}
		runes := []rune(word)
		for len(runes) > room {
			at := breakOf(runes, room)
			lines = append(lines, indent+string(runes[:at]))
			runes = runes[at:]
		}
		line = string(runes)
	}
	return append(lines, indent+line)
}
