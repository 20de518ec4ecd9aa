package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Example runs the program.
func Example() {
	main()
	// Output:
	// web-1 runs on node-1
}

// TestReadme compares the program with the one in README.md.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	assert.NilError(t, err)
	text, err := os.ReadFile("main.go")
	assert.NilError(t, err)
	_, program, found := strings.Cut(string(text), "\npackage main\n")
	assert.Assert(t, found)
	assert.Assert(t, strings.Contains(string(page), "```go\npackage main\n"+program+"```\n"), "README.md has another program than main.go")
}

// TestModules: a program that embeds the scheduler is linked with few modules beside those of the
// scheduler-interface. Prometheus is linked by a program that wants its metrics, and by no other.
func TestModules(t *testing.T) {
	modules := func(of string) []string {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", of).Output()
		assert.NilError(t, err)
		list := strings.Fields(string(out))
		slices.Sort(list)
		return slices.Compact(list)
	}
	theirs := modules("github.com/apache/yunikorn-scheduler-interface/lib/go/api")
	ours := slices.DeleteFunc(modules("."), func(module string) bool { return slices.Contains(theirs, module) })
	assert.DeepEqual(t, ours, []string{
		"github.com/google/btree", "github.com/hashicorp/golang-lru/v2", "github.com/narwhal-scheduler/narwhal", "go.uber.org/multierr", "go.uber.org/zap",
		"go.yaml.in/yaml/v3",
	})
}

// TestCommandsOfEmbedding runs the programs that docs/embedding.md runs.
func TestCommandsOfEmbedding(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	page, err := os.ReadFile("../embedding.md")
	assert.NilError(t, err)
	ran := 0
	for line := range strings.Lines(string(page)) {
		if arguments, is := strings.CutPrefix(strings.TrimSpace(line), "go run "); is {
			out, err := exec.Command("go", append([]string{"run"}, strings.Fields(arguments)...)...).CombinedOutput()
			assert.NilError(t, err, "%s: %s", line, out)
			ran++
		}
	}
	assert.Equal(t, ran, 1)
}
