package acceptance

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// goldenFiles is where the tests of the service keep what it answers.
const goldenFiles = "../testdata/"

// goldensBesides are the golden files that need more than a plain GET, and the
// operation that answers with them.
var goldensBesides = map[string]struct{ method, path, contentType string }{
	"config.json":        {http.MethodGet, "/ws/v1/config", typeJSON},
	"config.yaml":        {http.MethodGet, "/ws/v1/config", typeYAML},
	"fullstatedump.json": {http.MethodGet, "/debug/fullstatedump", typeJSON},
	"whatif.json":        {http.MethodPost, whatIfPath, typeJSON},
}

// TestGoldensKeepTheContract holds every golden file against the document.
func TestGoldensKeepTheContract(t *testing.T) {
	files, err := os.ReadDir(goldenFiles)
	assert.NilError(t, err)
	paths := map[string]string{}
	for _, g := range fixture.Answers {
		paths[g.File+".json"] = g.Path
	}
	checked := 0
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		content, err := os.ReadFile(goldenFiles + file.Name())
		assert.NilError(t, err)
		besides, ok := goldensBesides[file.Name()]
		if !ok {
			besides.method, besides.path, besides.contentType = http.MethodGet, paths[file.Name()], typeJSON
		}
		assert.Assert(t, besides.path != "", "nobody knows what %s is the answer to", file.Name())
		err = goldenKeeps(agreed(t), besides.method, besides.path, besides.contentType, string(content))
		assert.Assert(t, err == nil, "%s: %v", file.Name(), err)
		checked++
	}
	assert.Assert(t, checked >= len(fixture.Answers), checked)
}

func goldenKeeps(c *agreement, method, path, contentType, content string) error {
	target, err := url.Parse(path)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if strings.Contains(content, `"status_code": 404`) {
		status = http.StatusNotFound
	}
	op, ok := c.Find(method, target.EscapedPath())
	if !ok {
		return fmt.Errorf("%s is not in the document", path)
	}
	pointer, response := c.Response(op, status, "")
	return c.CheckBody(pointer, response, contentType, content, target)
}

// TestContractRefuses is the test of the test: what is not in the document is
// found out.
func TestContractRefuses(t *testing.T) {
	const path = "/ws/v1/partition/default/node/n1"
	const good = `{"nodeID": "n1", "schedulable": true, "isReserved": false, "allocationCount": 0, "capacity": {"vcore": 1}}`
	for content, want := range map[string]string{
		good: "",
		strings.Replace(good, `"nodeID"`, `"nodeid"`, 1):       "additional properties 'nodeid' not allowed",
		strings.Replace(good, `"schedulable": true, `, ``, 1):  "missing property 'schedulable'",
		strings.Replace(good, `"vcore": 1`, `"vcore": "1"`, 1): "got string, want integer",
		strings.Replace(good, `"vcore": 1`, `"vcore": 1.5`, 1): "got number, want integer",
		strings.Replace(good, `{"vcore": 1}`, `null`, 1):       "got null, want object",
		good + good:      "a second value",
		`{`:              "value 0",
		`[` + good + `]`: "got array, want object",
		``:               "EOF",
		strings.Replace(good, `}}`, `}, "evictions": [{"x": 1}]}`, 1): "additional properties 'x' not allowed",
	} {
		err := goldenKeeps(agreed(t), http.MethodGet, path, typeJSON, content)
		if want == "" {
			assert.NilError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
	for _, c := range []struct{ path, content, want string }{
		{path + "?fields=nodeID", `{"nodeID": "n1"}`, ""},
		{path + "?fields=nodeID,capacity", `{"nodeID": "n1", "capacity": {}}`, ""},
		{path + "?fields=nodeID", `{"nodeID": "n1", "capacity": {}}`, "field capacity was not asked for"},
		{path + "?fields=nodeID,schedulable", `{"nodeID": "n1"}`, "field schedulable is missing"},
		{path + "?fields=nodeID,capacity", `{"nodeID": "n1", "capacity": 1}`, "got number, want object"},
		{path + "?fields=nodeID", `{"nodeID": 1}`, "got number, want string"},
		{path, good, ""},
	} {
		err := goldenKeeps(agreed(t), http.MethodGet, c.path, typeJSON, c.content)
		if c.want == "" {
			assert.NilError(t, err)
		} else {
			assert.ErrorContains(t, err, c.want)
		}
	}
	assert.ErrorContains(t, goldenKeeps(agreed(t), http.MethodGet, path, typeYAML, good), "content of type")
	assert.ErrorContains(t, goldenKeeps(agreed(t), http.MethodPost, path, typeJSON, good), "not in the document")
}
