package client

import (
	"io"
	"strings"
)

// WriteLines writes the lines of an explanation or of an examination, readable and within the width. What goes on in the next line
// stands below its beginning: beside the name in the margin, not below it.
func WriteLines(out io.Writer, lines []string, l Layout) error {
	for _, line := range lines {
		line = Readable(line)
		at := margin(line)
		if l.Width <= at+columnMin {
			at = 0
		}
		parts := []string{line}
		if l.Width > 0 {
			parts = wrap(line[at:], l.Width-at)
			parts[0] = line[:at] + parts[0]
		}
		if _, err := io.WriteString(out, strings.Join(parts, "\n"+strings.Repeat(" ", at))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// planMargin is that of what is said of a plan.
const planMargin = 25

// margin is where the text of a line begins that has a margin: of findings that is 8 wide, of what is said of them 11, and
// of explanations 12.
func margin(line string) int {
	for _, at := range []int{planMargin, 12, 11, 8} {
		if len(line) <= at || line[at-1] != ' ' || line[at] == ' ' {
			continue
		}
		switch at {
		case 8:
			if line[at-2] != ' ' {
				continue
			}
		case planMargin:
			if !strings.HasPrefix(line, strings.Repeat(" ", 14)) {
				continue
			}
		default:
			if !strings.HasPrefix(line, "  ") {
				continue
			}
		}
		return at
	}
	return 0
}
