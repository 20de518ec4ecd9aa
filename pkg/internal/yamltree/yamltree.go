// Package yamltree walks the values of a YAML text. Each value knows where it
// stands, so that a reader can report everything that is wrong with a text, each
// problem with its line and key, instead of the first one.
//
// The package finds what is wrong with the form of a text: its syntax, keys that are
// given twice, merges that make no sense, aliases that stand for too much. Which keys
// there are and what their values mean is left to the reader, as well as how a problem
// is told; what configurations and policies say in the same words is in report.go.
package yamltree

import (
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A Walk is one reading of a text.
type Walk struct {
	// Max is the most values that may be visited, each as often as aliases repeat
	// it. It bounds what a few lines with aliases of aliases can cost.
	Max int
	// Exceeded is called once, when there are more values than Max. What is found
	// after that is not complete.
	Exceeded func()
	visited  int
}

func (w *Walk) visit() bool {
	w.visited++
	if w.visited == w.Max+1 {
		w.Exceeded()
	}
	return w.visited <= w.Max
}

// A Value is a value of a text with where it stands.
type Value struct {
	Node         *yaml.Node // never an alias
	Key          *yaml.Node // the key that leads here; nil in a list and at the top
	Line, Column int        // from 1; of the node, unless AtKey has moved them
	Path         string     // the keys that lead here, as typed: "nodes[2].capacity"
	walk         *Walk
}

// Top is the value that a walk begins with.
func (w *Walk) Top(node *yaml.Node) Value { return Value{walk: w}.moved(node, nil, "") }

func (v Value) moved(node, key *yaml.Node, path string) Value {
	v.Node, v.Key, v.Path = follow(node), key, path
	v.Line, v.Column = v.Node.Line, v.Node.Column
	return v
}

// follow is the node that an alias stands for.
func follow(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// AtKey is the value with the position of its key.
func (v Value) AtKey() Value {
	if v.Key != nil {
		v.Line, v.Column = v.Key.Line, v.Key.Column
	}
	return v
}

// Below is the value with the path of a key below it.
func (v Value) Below(key string) Value {
	v.Path = below(v.Path, key)
	return v
}

// Rooted is the value with a path that begins here.
func (v Value) Rooted() Value {
	v.Path = ""
	return v
}

func below(path, key string) string {
	if path == "" {
		return Clip(key)
	}
	return path + "." + Clip(key)
}

// IsMapping reports whether the value is keys and values.
func (v Value) IsMapping() bool { return v.Node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.Node.Kind == yaml.SequenceNode }

// IsScalar reports whether the value is a plain one: a text, a number, or nothing.
func (v Value) IsScalar() bool { return v.Node.Kind == yaml.ScalarNode }

// IsNull reports whether there is no value.
func (v Value) IsNull() bool { return isNull(v.Node) }

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// Items are the values of a list.
func (v Value) Items() []Value {
	if !v.IsList() {
		return nil
	}
	items := make([]Value, 0, len(v.Node.Content))
	for i, node := range v.Node.Content {
		if !v.walk.visit() {
			return nil
		}
		items = append(items, v.moved(node, nil, v.Path+"["+strconv.Itoa(i)+"]"))
	}
	return items
}

// Describe says what the value is: "a list", "nothing", or the quoted text.
func (v Value) Describe() string { return describe(v.Node) }

func describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(node):
		return "nothing"
	default:
		return Quote(node.Value)
	}
}

// QuotedMax is how many bytes of a text are repeated in a problem.
const QuotedMax = 80

// Clip shortens what was typed, so that a problem stays readable.
func Clip(text string) string {
	if len(text) <= QuotedMax {
		return text
	}
	cut := QuotedMax
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// Quote is Clip in quotation marks, with everything unprintable escaped.
func Quote(text string) string { return strconv.Quote(Clip(text)) }
