package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// Place is where in a configuration something stands.
type Place struct {
	Line   int // from 1; zero where there is no place in the text
	Column int // from 1; zero if only the line is known
	// Partition is the partition, empty outside of one.
	Partition string
	// Queue is the queue, empty outside of one.
	Queue api.QueuePath
	// Key is the way to the value as the user typed it, from the queue on, or
	// from the partition on outside of queues: "resources.max.vcore".
	Key string
}

// Severity says what a problem means for the configuration.
type Severity uint8

// The severities: an error refuses the configuration, a warning does not.
const (
	Error Severity = iota
	Warning
)

// A Problem is one thing wrong with a configuration.
type Problem struct {
	Place
	Severity Severity
	Message  string
}

// securityKeys are the keys by which a configuration keeps users from something.
var securityKeys = []string{"adminacl", "submitacl", "limits", "maxapplications", "usergroupresolver"}

// IsSecurity reports whether the problem is about a key that keeps users from something. To
// a configuration that others rely on such a warning is an error.
func (p Problem) IsSecurity() bool {
	key := p.Key[strings.LastIndexByte(p.Key, '.')+1:]
	return slices.Contains(securityKeys, key)
}

// String prints a problem for people.
func (p Problem) String() string { return p.Format("") }

// Format prints a problem like a compiler does, after the name of the file:
// "queues.yaml:12:5: root.a: resources.max.vcore: ...". Without a name it
// begins with "line 12:5: ".
func (p Problem) Format(file string) string {
	var b strings.Builder
	switch {
	case file != "":
		b.WriteString(file)
		b.WriteByte(':')
	case p.Line > 0:
		b.WriteString("line ")
	}
	if p.Line > 0 {
		b.WriteString(strconv.Itoa(p.Line))
		b.WriteByte(':')
	}
	if p.Line > 0 && p.Column > 0 {
		b.WriteString(strconv.Itoa(p.Column))
		b.WriteByte(':')
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Severity == Warning {
		b.WriteString("warning: ")
	}
	switch {
	case p.Queue != "":
		b.WriteString(string(p.Queue) + ": ")
	case p.Partition != "":
		b.WriteString("partition " + p.Partition + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems are the problems of one configuration, sorted by where they stand.
// As an error it is the reason why the configuration was refused: at least one
// of them is an error, and the warnings are there too.
type Problems []Problem

// Error lists all problems, one a line.
func (p Problems) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the configuration has %s", plural(p.Errors(), "error"))
	for _, one := range p {
		b.WriteString("\n  ")
		b.WriteString(one.String())
	}
	return b.String()
}

// Errors counts the problems that are errors.
func (p Problems) Errors() int {
	n := 0
	for _, one := range p {
		if one.Severity == Error {
			n++
		}
	}
	return n
}

// sort orders by place. What differs in nothing but the message is ordered by
// it, so that the same text always gives the same list.
func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Partition, b.Partition),
			cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
