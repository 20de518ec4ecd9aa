package yamltree

import (
	"fmt"
	"strings"
)

// A Report takes a problem with a value, or, where the value is AtKey, with its key.
type Report func(at Value, problem string)

// List is the values of a list. Anything else is a problem.
func (v Value) List(report Report) []Value {
	if !v.IsList() {
		report(v, "must be a list, not "+v.Describe())
		return nil
	}
	return v.Items()
}

// Each calls visit for the entries of a mapping whose keys make sense, and reports the others.
func (v Value) Each(report Report, visit func(key string, value Value)) {
	if !v.IsMapping() {
		report(v, "must be a mapping of keys and values, not "+v.Describe())
		return
	}
	for _, e := range v.Entries() {
		switch {
		case e.Twice > 0:
			report(e.Value.AtKey(), fmt.Sprintf("given twice, first in line %d", e.Twice))
		case e.Wrong != "":
			report(e.Value.AtKey(), e.Wrong)
		default:
			visit(e.Key, e.Value)
		}
	}
}

// Bool is true or false; ok is false if the value is something else, which is a problem.
func (v Value) Bool(report Report) (value, ok bool) {
	if !v.IsScalar() || v.Node.Decode(&value) != nil {
		report(v, "must be true or false, not "+v.Describe())
		return false, false
	}
	return value, true
}

// UnknownKey is the problem of a key that is none of those that are known.
func UnknownKey(key string, known []string) string { return "unknown key, " + Instead(key, known) }

// Instead says which known word was probably meant, or which there are.
func Instead(word string, known []string) string {
	if meant := Nearest(word, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "known here: " + strings.Join(known, ", ")
}
