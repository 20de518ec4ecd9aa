package scarcity

import (
	"slices"
	"strings"
)

// Bounds of a selector. What is beyond them does not count.
const (
	selectorBytesMax = 512
	termsMax         = 8
	labelsMax        = 16 // attributes that selectors name
)

// A term is an attribute and the values of which a node must have one.
type term struct {
	label  string
	values []string
}

// parse reads a selector such as model=T4|P100,zone=a: all terms must hold. An empty value
// is that of a node without the attribute. What cannot be read is no term.
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

// holds reports whether attributes have one of the values.
func (t *term) holds(attributes map[string]string) bool {
	return slices.Contains(t.values, attributes[t.label])
}
