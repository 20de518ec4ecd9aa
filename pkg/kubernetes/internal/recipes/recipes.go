// Package recipes reads the recipes of docs/examples/descheduler/recipes/README.md, for tests that play them.
package recipes

import (
	"bytes"
	"regexp"
	"strings"
)

// A Recipe is a policy of the page, with what the program prints for it on a cluster of a file.
type Recipe struct {
	Name      string   // the heading, with its number
	Policy    string   // as the page has it
	Arguments []string // of the program
	Prints    string   // as the page has it

	before, command, after string // the text of the page around
}

// section is a recipe of the page.
var section = regexp.MustCompile("(?s)(### [^\n]*\n[^#]*?\n```yaml\n)([^`]*)(```\n\n```\n)(\\$ narwhal-descheduler ([^\n]*)\n)(.*?)(```\n)")

// Read returns the recipes of the page, in its order.
func Read(page []byte) []Recipe {
	var found []Recipe
	for _, f := range section.FindAllStringSubmatch(string(page), -1) {
		heading, _, _ := strings.Cut(f[1], "\n")
		found = append(found, Recipe{
			Name:      strings.TrimLeft(heading, "# "),
			Policy:    f[2],
			Arguments: strings.Fields(f[5]),
			Prints:    f[6],
			before:    f[1], command: f[3] + f[4], after: f[7],
		})
	}
	return found
}

// Value is what the arguments give for a flag, or nothing.
func (r Recipe) Value(flag string) string {
	for i, argument := range r.Arguments {
		if argument == "--"+flag && i+1 < len(r.Arguments) {
			return r.Arguments[i+1]
		}
	}
	return ""
}

// Print returns the page with what a recipe prints now.
func (r Recipe) Print(page []byte, now string) []byte {
	with := func(prints string) []byte { return []byte(r.before + r.Policy + r.command + prints + r.after) }
	return bytes.Replace(page, with(r.Prints), with(now), 1)
}
