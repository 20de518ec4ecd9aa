package scarcity

import (
	"slices"
	"strings"
)

// Bounds of a selector. What is beyond them does not count.
const (
	selectorBytesMax = 512
	termsMax         = 8
	labelsMax        = 16 // attributes that selectors name, and taints
)

// A term is an attribute and the values of which a node must have one.
type term struct {
	label  string
	values []string
}

// taintPrefix begins the name of an attribute that keeps asks away from a node, whatever its value is. An ask
// tolerates it with a term of that name, or all of them with a term of the prefix.
const taintPrefix = "si/taint/"

// anyValue is any value but the empty one.
const anyValue = "*"

// parse reads a selector such as model=T4|P100,zone=a: all terms must hold. An empty value
// is that of a node without the attribute, and a star any other. What cannot be read is no term.
func parse(selector string) (terms []term) {
	if len(selector) > selectorBytesMax {
		return nil
	}
	for one := range strings.SplitSeq(selector, ",") {
		label, values, found := strings.Cut(one, "=")
		if label = strings.TrimSpace(label); found && label != "" && len(terms) < termsMax {
			terms = append(terms, term{label, strings.Split(values, "|")})
		}
	}
	return terms
}

// Lacking is the first term of a selector that the attributes of a node do not have; empty if they have all. Taints do not count.
func Lacking(selector string, attributes map[string]string) string {
	for _, t := range parse(selector) {
		if !t.holds(attributes) {
			return t.label + "=" + strings.Join(t.values, "|")
		}
	}
	return ""
}

// holds reports whether attributes have one of the values.
func (t *term) holds(attributes map[string]string) bool {
	value := attributes[t.label]
	return slices.Contains(t.values, value) || value != "" && slices.Contains(t.values, anyValue)
}

// tolerates reports whether terms name a taint.
func tolerates(terms []term, taint string) bool {
	return slices.ContainsFunc(terms, func(t term) bool { return t.label == taint || t.label == taintPrefix })
}

// taintsOf are the taints among attributes.
func taintsOf(attributes map[string]string) (names []string) {
	for name := range attributes {
		if strings.HasPrefix(name, taintPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
