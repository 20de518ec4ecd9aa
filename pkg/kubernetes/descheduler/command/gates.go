package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A gate is a feature that can be switched.
type gate struct {
	name    string
	enabled bool // unless the command line says otherwise
	does    string
}

// inBackground is the gate of evictions that the owner of a pod carries out.
const inBackground = "EvictionsInBackground"

// allGates are the gates there are.
var allGates = []gate{
	{inBackground, false, "owners may take their time to move a pod, as virtual machines do"},
}

// gates are those of the command line. It implements pflag.Value.
type gates map[string]bool

func knownGates() string {
	texts := make([]string, len(allGates))
	for i, g := range allGates {
		texts[i] = fmt.Sprintf("%s (%t): %s", g.name, g.enabled, g.does)
	}
	return strings.Join(texts, "; ")
}

// String is how gates are written on the command line.
func (g *gates) String() string {
	var texts []string
	for name, enabled := range *g {
		texts = append(texts, name+"="+strconv.FormatBool(enabled))
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}

// Type says in the help what is expected.
func (g *gates) Type() string { return "NAME=BOOL,..." }

// Set reads gates. One that is not known is an error, which says which there are.
func (g *gates) Set(text string) error {
	if *g == nil {
		*g = gates{}
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == "" {
			continue
		}
		enabled, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s: write true or false, not %q", name, value)
		}
		if !slices.ContainsFunc(allGates, func(known gate) bool { return known.name == name }) {
			return fmt.Errorf("there is no feature %s here; known: %s", name, knownGates())
		}
		(*g)[name] = enabled
	}
	return nil
}

// enabled says whether a feature is switched on.
func (g *gates) enabled(name string) bool {
	if enabled, given := (*g)[name]; given {
		return enabled
	}
	i := slices.IndexFunc(allGates, func(known gate) bool { return known.name == name })
	return i >= 0 && allGates[i].enabled
}
