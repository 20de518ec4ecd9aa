package contract

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
)

// Target is a path with the examples of the document in it, or with other parts.
func (d *Document) Target(op Operation, parts map[string]string) string {
	target := op.Path
	for name, said := range d.Parameters(op, "path") {
		part, other := parts[name]
		if !other {
			part = url.PathEscape(exampleValue(said))
		}
		target = strings.ReplaceAll(target, "{"+name+"}", part)
	}
	return target
}

// Own are the operations whose parameters the web service reads itself, and not
// net/http.
func (d *Document) Own() []Operation {
	return slices.DeleteFunc(d.Operations(), func(op Operation) bool {
		return strings.HasPrefix(op.Path, "/debug/") || op.Path == "/ws/v1/metrics"
	})
}

// Ask sends a request to a handler, with the examples of the document for what the
// path and the body need. It says what was asked for.
func (d *Document) Ask(handler http.Handler, op Operation, query string) (target string, w *httptest.ResponseRecorder) {
	var parts map[string]string
	if strings.HasSuffix(op.Path, "/queue/{queue}") {
		parts = map[string]string{"queue": "root.sys"} // which has others below
	}
	target = d.Target(op, parts) + "?" + query
	body := strings.NewReader("")
	if op.Method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	ctx, cancel := context.WithCancel(context.Background())
	if strings.HasSuffix(op.Path, "/stream") {
		cancel() // it would go on
	}
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, op.Method, target, body)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	w = httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return target, w
}

// exampleValue is the first example of a parameter.
func exampleValue(said Object) string {
	schema := said["schema"].(Object)
	for _, list := range []any{[]any{said["example"]}, schema["examples"], schema["enum"], []any{schema["default"]}, []any{schema["minimum"]}} {
		if list, ok := list.([]any); ok && len(list) > 0 && list[0] != nil {
			return fmt.Sprint(list[0])
		}
	}
	return ""
}

// ExampleBody is the first example of a body.
func (d *Document) ExampleBody(op Operation) string {
	body, _ := op.Said["requestBody"].(Object)
	for base := range body["content"].(Object) {
		_, said := d.Meant("/paths/" + EscapeStep(op.Path) + "/post/requestBody/content/" + EscapeStep(base))
		examples, _ := said["examples"].(Object)
		for _, one := range examples {
			if text, ok := d.followed(one.(Object))["value"].(string); ok {
				return text
			}
			return "{}"
		}
	}
	return ""
}

// Fields are the names of all fields of what an operation answers with.
func (d *Document) Fields(op Operation) []string {
	pointer, _ := d.Response(op, http.StatusOK, "")
	at, said := d.Meant(pointer + "/content/application~1json/schema")
	if said["type"] == "array" {
		_, said = d.Meant(at + "/items")
	}
	return slices.Collect(maps.Keys(said["properties"].(Object)))
}

// Words are all that a parameter may be.
func Words(said Object) (out []string) {
	for _, word := range said["schema"].(Object)["enum"].([]any) {
		out = append(out, word.(string))
	}
	return out
}

// CloseObjects refuses unknown properties of every object that names some. Clients
// must accept new ones, so the document itself does not.
func CloseObjects(node any) {
	switch node := node.(type) {
	case []any:
		for _, inner := range node {
			CloseObjects(inner)
		}
	case Object:
		if named, ok := node["properties"].(Object); ok && node["type"] == "object" && node["additionalProperties"] == nil {
			for _, property := range named {
				CloseObjects(property)
			}
			node["additionalProperties"] = false
			return
		}
		for key, inner := range node {
			if key != "examples" && key != "example" {
				CloseObjects(inner)
			}
		}
	}
}
