package webservice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/docs"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
)

// agreed is the document that the service offers.
func agreed(t testing.TB) *contract.Document {
	t.Helper()
	content, err := convertedOpenAPI()
	assert.NilError(t, err)
	document, err := contract.Parse(content)
	assert.NilError(t, err)
	return document
}

// TestOpenAPIHasEveryPart finds nothing that is said and not used.
func TestOpenAPIHasEveryPart(t *testing.T) {
	content, err := convertedOpenAPI()
	assert.NilError(t, err)
	c := agreed(t)
	spare := map[string]bool{"responses/MethodNotAllowed": true, "responses/UnknownPath": true} // of every path
	for kind, parts := range c.At("components") {
		for name := range parts.(jsonObject) {
			used := bytes.Contains(content, fmt.Appendf(nil, `"#/components/%s/%s"`, kind, name)) || kind == "securitySchemes"
			assert.Assert(t, used || spare[kind+"/"+name], "%s %s is not used", kind, name)
		}
	}
}

// TestOpenAPIHasEveryRoute compares the document with the table of routes, both
// ways.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	s := newWorld(t).service(t)
	var want, got []string
	for _, r := range append(s.routes(), s.debugRoutes()...) {
		if r.get != nil && !strings.HasSuffix(r.path, "/") { // that is a page for people
			want = append(want, "GET "+r.path)
		}
		if r.post != nil {
			want = append(want, "POST "+r.path)
		}
		if strings.HasSuffix(r.path, "/") {
			want = append(want, "GET "+r.path+"{profile}") // what is below
		}
	}
	for _, op := range agreed(t).Operations() {
		got = append(got, op.Method+" "+op.Path)
	}
	slices.Sort(want)
	slices.Sort(got)
	assert.DeepEqual(t, got, want)
}

// TestOpenAPIIsServed answers with the document in both forms, which say the same.
func TestOpenAPIIsServed(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	w := ask(h, http.MethodGet, "/ws/v1/openapi.yaml")
	assert.Equal(t, w.Header().Get("Content-Type"), "application/yaml")
	assert.Equal(t, w.Body.String(), string(docs.OpenAPI()))
	tag := w.Header().Get("ETag")
	assert.Equal(t, ask(h, http.MethodGet, "/ws/v1/openapi.yaml", "If-None-Match", tag).Code, http.StatusNotModified)

	w = ask(h, http.MethodGet, "/ws/v1/openapi.json", "Accept-Encoding", "gzip")
	assert.Equal(t, w.Header().Get("Content-Type"), typeJSON)
	content := contract.Unpacked(t, w)
	var document map[string]json.RawMessage
	assert.NilError(t, json.Unmarshal([]byte(content), &document))
	assert.DeepEqual(t, slices.Sorted(maps.Keys(document)), []string{"components", "info", "openapi", "paths", "security", "servers", "tags"})
	assert.Assert(t, strings.HasPrefix(content, `{"openapi":"3.1.0","info":{"title":"Narwhal REST",`), "members are in the order of the text")
}

// TestJSONOfYAML converts what YAML has beyond JSON.
func TestJSONOfYAML(t *testing.T) {
	for text, want := range map[string]string{
		"b: 1\na: [x, 'y', ~, true, 0.5]": `{"b":1,"a":["x","y",null,true,0.5]}`,
		"200: {a: &x {b: c}, d: *x}":      `{"200":{"a":{"b":"c"},"d":{"b":"c"}}}`,
		"a: |\n  one\n  two":              `{"a":"one\ntwo"}`,
		"[]":                              `[]`,
	} {
		got, err := jsonOfYAML([]byte(text))
		assert.NilError(t, err)
		assert.Equal(t, string(got), want)
	}
	for _, text := range []string{"a: [", "a: !!int x", ""} {
		_, err := jsonOfYAML([]byte(text))
		assert.Assert(t, err != nil, text)
	}
}
