package yamltree

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// An Entry is a key of a mapping with its value.
type Entry struct {
	Key   string // "?" if it is no text
	Value Value
	// Twice is the line in which the same mapping has the key before; zero if it is
	// given once.
	Twice int
	// Wrong is what else is wrong with the key; empty if nothing is.
	Wrong string
}

// OK reports whether nothing is wrong with the key.
func (e *Entry) OK() bool { return e.Twice == 0 && e.Wrong == "" }

// Entries are the keys of a mapping in the order of the text, then those that merge
// keys (<<) add. A key of the mapping itself goes before one that is merged.
func (v Value) Entries() []Entry {
	if !v.IsMapping() {
		return nil
	}
	m := merging{of: v, seen: map[string]bool{}}
	m.mapping(v.Node, 0)
	return m.entries
}

// Find is the value of a key, if the mapping has it and it is not null.
func (v Value) Find(key string) (Value, bool) {
	for _, e := range v.Entries() {
		if e.Key == key && e.OK() && !e.Value.IsNull() {
			return e.Value, true
		}
	}
	return Value{}, false
}

// mergesMax is how deep mappings may merge others that merge others.
const mergesMax = 16

// merging collects the entries of a mapping and of those that it merges.
type merging struct {
	of      Value
	seen    map[string]bool
	entries []Entry
}

// entry is a key of the text with its value.
func (m *merging) entry(key string, name, value *yaml.Node) Entry {
	return Entry{Key: key, Value: m.of.moved(value, name, below(m.of.Path, key))}
}

func (m *merging) mapping(node *yaml.Node, depth int) {
	var merges []Entry
	own := map[string]int{} // line of a key of this very mapping
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !m.of.walk.visit() {
			return
		}
		name := follow(node.Content[i])
		e := m.entry(name.Value, node.Content[i], node.Content[i+1])
		line, twice := own[e.Key]
		switch {
		case name.Kind != yaml.ScalarNode:
			e = m.entry("?", node.Content[i], node.Content[i+1])
			e.Wrong = "a key must be a plain text, not " + describe(name)
		case name.ShortTag() == "!!merge":
			merges = append(merges, e)
			continue
		case twice:
			e.Twice = line
		case m.seen[e.Key]:
			continue
		default:
			own[e.Key], m.seen[e.Key] = node.Content[i].Line, true
		}
		m.entries = append(m.entries, e)
	}
	for _, e := range merges {
		m.merge(e, depth+1)
	}
}

// merge adds what a merge key stands for: a mapping or a list of them.
func (m *merging) merge(e Entry, depth int) {
	from := []*yaml.Node{e.Value.Node}
	if e.Value.IsList() {
		from = e.Value.Node.Content
	}
	for _, node := range from {
		node = follow(node)
		switch {
		case !m.of.walk.visit():
			return
		case node.Kind != yaml.MappingNode:
			e.Wrong = "merges " + describe(node) + ", which is no mapping"
			m.entries = append(m.entries, e)
		case depth > mergesMax:
			e.Wrong = fmt.Sprintf("merges more than %d mappings into each other", mergesMax)
			m.entries = append(m.entries, e)
		default:
			m.mapping(node, depth)
		}
	}
}
