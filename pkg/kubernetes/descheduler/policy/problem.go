package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// A Problem is one thing wrong with a policy, and where it stands.
type Problem struct {
	Line, Column int // from 1
	// Path is the keys that lead there, as typed: profiles[0].plugins.balance.
	Path    string
	Message string
}

// Warning is a problem that does not refuse a policy.
type Warning = Problem

// String prints a problem for people.
func (p Problem) String() string { return p.Format("") }

// Format prints a problem like a compiler does, after the name of the file:
// "policy.yaml:12:5: profiles[0].name: ...". Without a name it begins with
// "line 12:5: ".
func (p Problem) Format(file string) string {
	var b strings.Builder
	if file == "" {
		b.WriteString("line ")
	} else {
		b.WriteString(file + ":")
	}
	fmt.Fprintf(&b, "%d:%d: ", p.Line, p.Column)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems are all that is wrong with a policy, sorted by where they stand. As an
// error they are the reason why the policy was refused.
type Problems []Problem

// Error lists all problems, one a line.
func (p Problems) Error() string {
	var b strings.Builder
	b.WriteString("the policy has " + wording.Several(len(p), "error"))
	for _, one := range p {
		b.WriteString("\n  " + one.String())
	}
	return b.String()
}

// sorted orders by place; what differs in nothing but the message is ordered by it,
// so that the same text always gives the same list.
func sorted(p []Problem) []Problem {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return p
}
