package webservice

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

const page = "../../docs/rest.md"

// example is a block of JSON that names its golden file.
var example = regexp.MustCompile("(?ms)^```json ([a-z-]+\\.json)\n(.*?)^```$")

// TestExamplesInDocs compares the examples of the page with the golden files;
// -update fills them in.
func TestExamplesInDocs(t *testing.T) {
	content, err := os.ReadFile(page)
	assert.NilError(t, err)
	filled := example.ReplaceAllStringFunc(string(content), func(block string) string {
		name := example.FindStringSubmatch(block)[1]
		shown, err := os.ReadFile("testdata/" + name)
		assert.NilError(t, err)
		return "```json " + name + "\n" + string(shown) + "```"
	})
	assert.Assert(t, len(example.FindAllString(filled, -1)) > 5)
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(page, []byte(filled), 0o644))
		return
	}
	assert.Assert(t, filled == string(content), "%s has other examples than testdata; fill them in with -update", page)
}

// TestEveryPathIsInDocs looks for each path in the tables of the page.
func TestEveryPathIsInDocs(t *testing.T) {
	content, err := os.ReadFile(page)
	assert.NilError(t, err)
	s := newWorld(t).service(t)
	for _, r := range append(s.routes(), s.debugRoutes()...) {
		path := strings.TrimPrefix(strings.ReplaceAll(r.path, "{partition}", "P"), "/ws/v1/")
		assert.Assert(t, strings.Contains(string(content), "`"+path+"`"), path)
	}
}

// TestEveryParameterIsInDocs looks for what each list can be picked by.
func TestEveryParameterIsInDocs(t *testing.T) {
	content, err := os.ReadFile(page)
	assert.NilError(t, err)
	for _, name := range []string{
		"limit", "offset", "fields", "subtree", "node", "schedulable", "reserved", "evicting", "status", "application", "user", "group", "queue", "cluster", "partition",
	} {
		assert.Assert(t, strings.Contains(string(content), "`"+name), name)
	}
}
