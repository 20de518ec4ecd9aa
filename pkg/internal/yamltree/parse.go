package yamltree

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A SyntaxError is why a text is not YAML.
type SyntaxError struct {
	Line int // from 1; zero where the parser names none
	Text string
}

func (e *SyntaxError) Error() string { return e.Text }

// Parse reads a text that holds one document. Both nodes are nil if there is no
// value in it; second is what begins another document, nil if there is none. The
// error is a *SyntaxError.
func Parse(text string) (root, second *yaml.Node, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var documents [2]yaml.Node
	for i := range documents {
		switch err := decoder.Decode(&documents[i]); {
		case errors.Is(err, io.EOF):
			return root, nil, nil
		case err != nil:
			return nil, nil, syntaxError(err, text)
		case i == 0:
			root = documents[i].Content[0]
		}
	}
	return root, &documents[1], nil
}

// lineOfError is how the YAML parser begins an error.
var lineOfError = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

func syntaxError(err error, text string) *SyntaxError {
	message := err.Error()
	found := lineOfError.FindStringSubmatch(message)
	if found == nil {
		return &SyntaxError{Text: message}
	}
	line, err := strconv.Atoi(found[1])
	if err != nil {
		line = 0
	}
	return &SyntaxError{Line: faultyLine(text, line, linesRead(text)), Text: message[len(found[0]):]}
}

// How far a fault is looked for around the lines where it may be, and how many bytes are
// parsed for that at most.
const (
	nearRead, nearNamed = 5, 20
	lookedAtMax         = 4 << 20
)

// faultyLine is the line of a fault. The parser often names the line before the one in
// which the mapping or list with the fault begins. But it has read no further than it had to, and what
// is before the fault is YAML. So this is the line after the longest such beginning.
func faultyLine(text string, named, read int) int {
	left := lookedAtMax
	isFine := func(lines int) bool {
		beginning := firstLines(text, lines)
		if left -= len(beginning); left < 0 {
			return false
		}
		return yaml.Unmarshal([]byte(beginning), new(yaml.Node)) == nil
	}
	for n := read - 1; n >= max(0, read-nearRead, named-1); n-- {
		if isFine(n) {
			return max(n+1, named)
		}
	}
	for n := min(read, named+nearNamed); n >= max(0, named-1); n-- {
		if isFine(n) {
			return max(n+1, named)
		}
	}
	return named
}

// linesRead is how many lines the parser reads before it gives up.
func linesRead(text string) int {
	lines := &lineReader{rest: text}
	decoder := yaml.NewDecoder(lines)
	for {
		if err := decoder.Decode(new(yaml.Node)); err != nil {
			return lines.read
		}
	}
}

// firstLines is the beginning of a text.
func firstLines(text string, lines int) string {
	end := 0
	for range lines {
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return text
		}
		end += next + 1
	}
	return text[:end]
}

// A lineReader hands out one line at a time, and counts them.
type lineReader struct {
	rest string
	read int
}

func (r *lineReader) Read(into []byte) (int, error) {
	if r.rest == "" {
		return 0, io.EOF
	}
	end := strings.IndexByte(r.rest, '\n') + 1
	if end == 0 {
		end = len(r.rest)
	}
	end = copy(into, r.rest[:end])
	if r.rest[end-1] == '\n' || end == len(r.rest) {
		r.read++
	}
	r.rest = r.rest[end:]
	return end, nil
}
