package webservice

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const page = "../../docs/rest.md"

// question is a block of JSON, which is sent as a what-if.
var question = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

// TestQuestionsInDocs sends the questions of the page. The examples of answers are in the OpenAPI document.
func TestQuestionsInDocs(t *testing.T) {
	content, err := os.ReadFile(page)
	assert.NilError(t, err)
	found := question.FindAllStringSubmatch(string(content), -1)
	assert.Assert(t, len(found) > 0)
	h := crowded(t).Handler()
	for _, text := range found {
		w := post(h, whatIfPath, text[1])
		assert.Equal(t, w.Code, http.StatusOK, "%s: %s", text[1], w.Body)
	}
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
