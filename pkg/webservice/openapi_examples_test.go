package webservice

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

const (
	openAPIFile = "../../docs/openapi.yaml"
	// filledFrom is the line from which on the document has examples only.
	filledFrom = "  # What is below is filled in.\n"
)

var exampleUsed = regexp.MustCompile(`"#/components/examples/([a-z-]+)"`)

// TestOpenAPIExamples compares the examples of the document with the golden files
// of the same name; -update fills them in.
func TestOpenAPIExamples(t *testing.T) {
	content, err := os.ReadFile(openAPIFile)
	assert.NilError(t, err)
	written, _, found := strings.Cut(string(content), filledFrom)
	assert.Assert(t, found)
	var names []string
	for _, match := range exampleUsed.FindAllStringSubmatch(written, -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	filled := written + filledFrom + "  examples:\n"
	for _, name := range slices.Compact(names) {
		filled += fmt.Sprintf("    %s:\n      value:%s", name, exampleOf(t, name))
	}
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(openAPIFile, []byte(filled), 0o644))
		return
	}
	assert.Assert(t, filled == string(content), "%s has other examples than testdata; fill them in with -update", openAPIFile)
}

// exampleOf is a golden file as a value of YAML: JSON as it is, which is YAML too,
// and anything else as a block of text.
func exampleOf(t *testing.T, name string) string {
	file, kind, begin := name+".json", "\n", "        "
	if text, ok := strings.CutSuffix(name, "-yaml"); ok {
		file, kind = text+".yaml", " |\n"
	}
	shown, err := os.ReadFile("testdata/" + file)
	assert.NilError(t, err)
	return kind + begin + strings.ReplaceAll(strings.TrimSpace(string(shown)), "\n", "\n"+begin) + "\n"
}
