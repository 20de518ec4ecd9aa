package config

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A reader collects what is wrong with one text.
type reader struct {
	problems Problems
	errors   int // problems of each severity, shown or not
	warnings int
	visited  int  // values seen, each as often as aliases repeat it
	queues   int  // queues seen
	unnamed  int  // queues without a usable name
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

// visit counts a value. It is false when there were too many, which takes
// aliases that repeat each other.
func (r *reader) visit() bool {
	r.visited++
	if r.visited > nodesMax {
		r.giveUp(Problem{Message: fmt.Sprintf("the text stands for more than %d values; do its aliases (*name) repeat each other?", nodesMax)})
	}
	return !r.gaveUp
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
	c := cursor{read: r}.moved(root, nil, "")
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
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		r.add(Problem{Message: "configures no partition: the text has nothing but blanks and comments"})
		return nil
	case err != nil:
		r.giveUp(syntaxProblem(err))
		return nil
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.giveUp(syntaxProblem(err))
		return nil
	default:
		r.add(Problem{
			Place:   Place{Line: second.Line, Column: second.Column},
			Message: "a second YAML document; a configuration is one",
		})
	}
	if isNull(document.Content[0]) {
		r.add(Problem{Message: "configures no partition: the text is empty"})
		return nil
	}
	return document.Content[0]
}

// lineOfError is how the YAML parser begins an error.
var lineOfError = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

func syntaxProblem(err error) Problem {
	text := err.Error()
	found := lineOfError.FindStringSubmatch(text)
	if found == nil {
		return Problem{Place: Place{Line: 1}, Message: "not YAML: " + text}
	}
	line, err := strconv.Atoi(found[1])
	if err != nil {
		line = 1 // the parser names every line but the first
	}
	return Problem{Place: Place{Line: line}, Message: "not YAML: " + text[len(found[0]):]}
}

// follow is the value that an alias stands for.
func follow(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// An entry is a key of a mapping with its value.
type entry struct {
	key         string
	name, value *yaml.Node
	wrong       string // what is wrong with the key
}

// entries are the keys of a mapping in the order of the text, then those that
// merge keys (<<) add.
func (c cursor) entries() []entry {
	m := merging{read: c.read, seen: map[string]bool{}}
	m.mapping(c.node, 0)
	return m.entries
}

// find is the value of a key, if the mapping has it.
func (c cursor) find(key string) (cursor, bool) {
	if c.node.Kind != yaml.MappingNode {
		return cursor{}, false
	}
	for _, e := range c.entries() {
		if e.key == key && e.wrong == "" && !isNull(follow(e.value)) {
			return c.enter(e), true
		}
	}
	return cursor{}, false
}

// mergesMax is how deep mappings may merge others that merge others.
const mergesMax = 16

// merging collects the entries of a mapping and of those that it merges. What
// stands nearer goes before what is merged.
type merging struct {
	read    *reader
	seen    map[string]bool
	entries []entry
}

func (m *merging) mapping(node *yaml.Node, depth int) {
	var merges []entry
	own := map[string]int{} // line of a key of this very mapping
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !m.read.visit() {
			return
		}
		name := follow(node.Content[i])
		e := entry{key: name.Value, name: node.Content[i], value: node.Content[i+1]}
		line, twice := own[e.key]
		switch {
		case name.Kind != yaml.ScalarNode:
			e.key, e.wrong = "?", "a key must be a plain text, not "+describe(name)
		case name.ShortTag() == "!!merge":
			merges = append(merges, e)
			continue
		case twice:
			e.wrong = fmt.Sprintf("given twice, first in line %d", line)
		case m.seen[e.key]:
			continue
		default:
			own[e.key], m.seen[e.key] = e.name.Line, true
		}
		m.entries = append(m.entries, e)
	}
	for _, e := range merges {
		m.merge(e, depth+1)
	}
}

// merge adds what a merge key stands for: a mapping or a list of them.
func (m *merging) merge(e entry, depth int) {
	from := []*yaml.Node{follow(e.value)}
	if from[0].Kind == yaml.SequenceNode {
		from = from[0].Content
	}
	for _, node := range from {
		node = follow(node)
		switch {
		case !m.read.visit():
			return
		case node.Kind != yaml.MappingNode:
			e.wrong = "merges " + describe(node) + ", which is no mapping"
			m.entries = append(m.entries, e)
		case depth > mergesMax:
			e.wrong = fmt.Sprintf("merges more than %d mappings into each other", mergesMax)
			m.entries = append(m.entries, e)
		default:
			m.mapping(node, depth)
		}
	}
}
