package simulator

import (
	"fmt"
	"strings"
)

// problemsMax is how many problems are listed; the rest is counted.
const problemsMax = 50

// A Problem is one thing that is wrong with an input.
type Problem struct {
	File string // empty when the caller knows it better
	Line int    // from one; zero when it belongs to no line
	Key  string // what the user typed, as a path
	Text string
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		if p.File != "" {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%d", p.Line)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems is everything that is wrong with an input, in its order.
type Problems []Problem

// Error lists the problems one a line, like a compiler.
func (p Problems) Error() string {
	var b strings.Builder
	for i, problem := range p {
		if i == problemsMax {
			fmt.Fprintf(&b, "\nand %d more", len(p)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(problem.String())
	}
	return b.String()
}

// In is the problems with the file they are in.
func (p Problems) In(file string) Problems {
	named := make(Problems, len(p))
	for i, problem := range p {
		problem.File = file
		named[i] = problem
	}
	return named
}

func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
