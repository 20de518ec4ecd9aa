package config

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// A reader collects what is wrong with one text.
type reader struct {
	defaults Defaults
	problems Problems
	errors   int // problems of each severity, shown or not
	warnings int
	queues   int  // queues seen
	unnamed  int  // queues without a usable name
	closed   bool // a queue of the partition names an access list
	gaveUp   bool // a bound was passed: what is reported after that is noise
}

// add takes up a problem.
func (r *reader) add(p Problem) {
	if r.gaveUp {
		return
	}
	count := &r.errors
	if p.Severity == Warning {
		count = &r.warnings
	}
	*count++
	switch {
	case *count <= problemsMax:
		r.problems = append(r.problems, p)
	case *count == problemsMax+1:
		r.problems = append(r.problems, Problem{
			Severity: p.Severity,
			Message:  fmt.Sprintf("more than %d problems of this kind, the others are not shown", problemsMax),
		})
	}
}

// giveUp reports the last problem there will be.
func (r *reader) giveUp(p Problem) {
	r.add(p)
	r.gaveUp = true
}

func (r *reader) failed() bool { return r.errors > 0 }

// exceeded reports that there were too many values, which takes aliases that repeat
// each other.
func (r *reader) exceeded() {
	r.giveUp(Problem{Message: fmt.Sprintf("the text stands for more than %d values; do its aliases (*name) repeat each other?", nodesMax)})
}

// document reads a whole text. It returns what could be read of its
// partitions.
func (r *reader) document(text string) []Partition {
	if len(text) > TextMax {
		r.giveUp(Problem{Message: fmt.Sprintf("the text has %d bytes, %d are the most", len(text), TextMax)})
		return nil
	}
	root := r.parse(text)
	if root == nil {
		return nil
	}
	walk := &yamltree.Walk{Max: nodesMax, Exceeded: r.exceeded}
	c := cursor{read: r}.moved(walk.Top(root))
	var partitions []Partition
	c.fields(
		field{"partitions", func(c cursor) { partitions = r.partitions(c) }},
		field{"checksum", func(c cursor) { c.text() }},
	)
	if len(partitions) == 0 && !r.failed() {
		c.fail("configures no partition; write at least partitions: [{name: default, queues: []}], or nothing at all for the built-in configuration")
	}
	return partitions
}

// parse makes nodes of a text that holds one YAML document.
func (r *reader) parse(text string) *yaml.Node {
	root, second, err := yamltree.Parse(text)
	if err != nil {
		r.giveUp(syntaxProblem(err))
		return nil
	}
	if root == nil {
		r.add(Problem{Message: "configures no partition: the text has nothing but blanks and comments"})
		return nil
	}
	if second != nil {
		r.add(Problem{
			Place:   Place{Line: second.Line, Column: second.Column},
			Message: "a second YAML document; a configuration is one",
		})
	}
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		r.add(Problem{Message: "configures no partition: the text is empty"})
		return nil
	}
	return root
}

// syntaxProblem is an error of the YAML parser, which names every line but the first.
func syntaxProblem(err error) Problem {
	line := 1
	if syntax, ok := errors.AsType[*yamltree.SyntaxError](err); ok {
		line = max(syntax.Line, 1)
	}
	return Problem{Place: Place{Line: line}, Message: "not YAML: " + err.Error()}
}
