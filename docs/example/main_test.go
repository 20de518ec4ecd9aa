package main

import (
	"os"
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
