package simulator

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed examples/*.yaml
var exampleFiles embed.FS

// DefaultExample is the example that is played when nothing else is asked for.
const DefaultExample = "teams"

// Examples lists the names of the scenarios that come with the simulator.
func Examples() []string {
	entries, err := exampleFiles.ReadDir("examples")
	if err != nil {
		panic(fmt.Sprintf("the examples are not in the program: %v", err))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// ExampleText is the text of an example, as one would write it in a file.
func ExampleText(name string) (string, error) {
	text, err := exampleFiles.ReadFile("examples/" + name + ".yaml")
	if err != nil {
		return "", fmt.Errorf("there is no example %q; there are %s", name, strings.Join(Examples(), ", "))
	}
	return string(text), nil
}
