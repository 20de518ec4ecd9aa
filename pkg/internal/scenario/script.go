package scenario

import (
	"fmt"
	"strings"
)

const dashes = "----"

// A script is a parsed scenario, without its outputs.
type script struct {
	steps []step
	rest  []string // comments after the last step
}

// A step is the lines as written, dashes included, and the commands in them.
type step struct {
	lines    []string
	commands []command
}

// A command is a line at the margin with the indented lines below it.
type command struct {
	number int // of the line, from 1
	words  []string
	input  []inputLine
}

type inputLine struct {
	number int
	text   string
}

// parse splits a text into steps and leaves their outputs out.
func parse(text string) (script, error) {
	var (
		s       script
		current step
		output  bool
	)
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case output:
			output = line != ""
			continue
		case line == dashes && len(current.commands) == 0:
			return s, fmt.Errorf("line %d: dashes without a command", i+1)
		case line == dashes:
			s.steps = append(s.steps, current)
			current, output = step{}, true
			continue
		}
		if err := current.read(i+1, line); err != nil {
			return s, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if n := len(current.commands); n > 0 {
		return s, fmt.Errorf("line %d: a step without dashes", current.commands[n-1].number)
	}
	s.rest = current.lines
	return s, nil
}

// has reports whether a verb of one word is in the script.
func (s script) has(verb string) bool {
	for _, step := range s.steps {
		for _, c := range step.commands {
			if c.words[0] == verb {
				return true
			}
		}
	}
	return false
}

func (s *step) read(number int, line string) error {
	s.lines = append(s.lines, line)
	switch trimmed := strings.TrimSpace(line); {
	case trimmed == "" || strings.HasPrefix(line, "#"):
	case line[0] != ' ' && line[0] != '\t':
		words, err := split(line)
		if err != nil {
			return err
		}
		s.commands = append(s.commands, command{number: number, words: words})
	case len(s.commands) == 0:
		return fmt.Errorf("%q belongs to no command", trimmed)
	default:
		last := &s.commands[len(s.commands)-1]
		last.input = append(last.input, inputLine{number, line})
	}
	return nil
}

// split breaks a line into words at spaces outside of double quotes, which it
// takes away. Within quotes \" is a quote, \\ a backslash and \n a new line.
func split(line string) ([]string, error) {
	var (
		words   []string
		word    strings.Builder
		quoted  bool
		begun   bool
		escaped bool
	)
	for _, r := range line {
		switch {
		case escaped:
			if r == 'n' {
				r = '\n'
			}
			word.WriteRune(r)
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted, begun = !quoted, true
		case !quoted && (r == ' ' || r == '\t'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed: %s", line)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// text is the input of a command as it stands, without the indentation that all
// lines share with the first.
func (c command) text() string {
	var b strings.Builder
	for _, line := range c.input {
		first := c.input[0].text
		margin := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
		b.WriteString(strings.TrimPrefix(line.text, margin) + "\n")
	}
	return b.String()
}
