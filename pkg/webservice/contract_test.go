package webservice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
)

// A contract is the OpenAPI document, to be held against answers. It refuses what
// the document does not say: statuses, types of content, fields.
type contract struct {
	document jsonObject
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by pointer into the document
}

// jsonObject is an object of JSON.
type jsonObject = map[string]any

// An operation is one path and method of the document.
type operation struct {
	path, method string
	said         jsonObject
}

// agreed is the contract, read once for all tests.
var agreed = sync.OnceValue(func() *contract {
	content, err := convertedOpenAPI()
	if err != nil {
		panic(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		panic(err)
	}
	c := &contract{document: document.(jsonObject), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	closeObjects(c.document)
	if err := c.compiler.AddResource("openapi.json", c.document); err != nil {
		panic(err)
	}
	return c
})

// closeObjects refuses unknown properties of every object that names some. Clients
// must accept new ones, so the document itself does not.
func closeObjects(node any) {
	switch node := node.(type) {
	case []any:
		for _, inner := range node {
			closeObjects(inner)
		}
	case jsonObject:
		if named, ok := node["properties"].(jsonObject); ok && node["type"] == "object" && node["additionalProperties"] == nil {
			for _, property := range named {
				closeObjects(property)
			}
			node["additionalProperties"] = false
			return
		}
		for key, inner := range node {
			if key != "examples" && key != "example" {
				closeObjects(inner)
			}
		}
	}
}

// at is what a pointer such as /paths/x leads to, through references.
func (c *contract) at(pointer ...string) jsonObject {
	here := c.document
	for _, step := range pointer {
		next, _ := here[step].(jsonObject)
		here = c.followed(next)
	}
	return here
}

// followed is what is meant where a reference may be.
func (c *contract) followed(node jsonObject) jsonObject {
	for {
		ref, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		node = c.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
}

// schema is a part of the document as a schema.
func (c *contract) schema(pointer string) *jsonschema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.schemas[pointer]; known != nil {
		return known
	}
	out, err := c.compiler.Compile("openapi.json#" + pointer)
	if err != nil {
		panic(fmt.Errorf("%s: %w", pointer, err))
	}
	c.schemas[pointer] = out
	return out
}

// operations are all there are, by path and method.
func (c *contract) operations() (out []operation) {
	paths := c.at("paths")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(jsonObject)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			if method != "parameters" {
				out = append(out, operation{path, strings.ToUpper(method), item[method].(jsonObject)})
			}
		}
	}
	return out
}

// find is the operation that a request is for; false if there is none. Of several
// paths that fit, the one with the fewest parameters is meant.
func (c *contract) find(method, path string) (operation, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var best operation
	for _, op := range c.operations() {
		if right, ok := fit(op.path, path); op.method != method || !ok || right != path || strings.HasSuffix(op.path, "/") && path != op.path {
			continue
		}
		if best.path == "" || strings.Count(op.path, "{") < strings.Count(best.path, "{") {
			best = op
		}
	}
	return best, best.path != ""
}

// parameters are those of an operation that are in a place, by name.
func (c *contract) parameters(op operation, in string) map[string]jsonObject {
	out := map[string]jsonObject{}
	for _, of := range []jsonObject{c.document["paths"].(jsonObject)[op.path].(jsonObject), op.said} {
		list, _ := of["parameters"].([]any)
		for _, one := range list {
			if p := c.followed(one.(jsonObject)); p["in"] == in {
				out[p["name"].(string)] = p
			}
		}
	}
	return out
}

// check says in what an answer breaks the contract; nil if it keeps it.
func (c *contract) check(method string, target *url.URL, w *httptest.ResponseRecorder, content string) error {
	op, known := c.find(method, target.EscapedPath())
	if escaped := target.EscapedPath(); path.Clean(escaped) != strings.TrimSuffix(escaped, "/") {
		known = false // whatever it says
	}
	shared := ""
	switch {
	case !known && w.Code == http.StatusMovedPermanently:
		return nil // to the path that was meant
	case w.Code == http.StatusMethodNotAllowed:
		shared = "MethodNotAllowed"
	case !known && w.Code == http.StatusUnauthorized:
		shared = "Unauthorized"
	case !known && w.Code == http.StatusNotFound:
		shared = "UnknownPath"
	case !known:
		return errors.New("the path is not in the document")
	}
	pointer, response := c.response(op, w.Code, shared)
	if response == nil {
		return fmt.Errorf("%s has no status %d", op.path, w.Code)
	}
	if err := c.checkHead(response, w.Header()); err != nil {
		return err
	}
	if method == http.MethodHead {
		return nil
	}
	if !known || c.parameters(op, "query")["fields"] == nil {
		target = &url.URL{Path: target.Path} // it is ignored, as all that are not known are
	}
	return c.checkBody(pointer, response, w.Header().Get("Content-Type"), content, target)
}

// response is what an operation may answer with a status, and where that is said.
// Of some answers it is said for all operations at once.
func (c *contract) response(op operation, status int, shared string) (pointer string, said jsonObject) {
	if shared != "" {
		return "/components/responses/" + shared, c.at("components", "responses", shared)
	}
	pointer = "/paths/" + escapedStep(op.path) + "/" + strings.ToLower(op.method) + "/responses/" + fmt.Sprint(status)
	raw, _ := op.said["responses"].(jsonObject)[fmt.Sprint(status)].(jsonObject)
	if ref, ok := raw["$ref"].(string); ok {
		return strings.TrimPrefix(ref, "#"), c.followed(raw)
	}
	return pointer, raw
}

func (c *contract) checkHead(response jsonObject, head http.Header) error {
	headers, _ := response["headers"].(jsonObject)
	for name, raw := range headers {
		said := c.followed(raw.(jsonObject))
		given := head.Get(name)
		if given == "" {
			if said["required"] == true {
				return fmt.Errorf("header %s is missing", name)
			}
			continue
		}
		var value any = given
		if said["schema"].(jsonObject)["type"] == "integer" {
			value = json.Number(given)
		}
		if !headersShared[name] {
			if wanted := said["schema"].(jsonObject)["const"]; wanted != nil && !strings.HasPrefix(given, wanted.(string)) {
				return fmt.Errorf("header %s is %s", name, given)
			}
			continue
		}
		if err := c.schema("/components/headers/" + name + "/schema").Validate(value); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

// headersShared are those that the document describes once for all.
var headersShared = map[string]bool{"ETag": true, "X-Total-Count": true, "Link": true, "Allow": true}

func (c *contract) checkBody(pointer string, response jsonObject, contentType, body string, target *url.URL) error {
	contents, _ := response["content"].(jsonObject)
	if contents == nil {
		if body != "" {
			return fmt.Errorf("a body that is not in the document: %.100q", body)
		}
		return nil
	}
	base, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	said, ok := contents[base].(jsonObject)
	if !ok {
		return fmt.Errorf("content of type %s, which is not in the document", contentType)
	}
	if said["schema"] == nil {
		return nil
	}
	at := pointer + "/content/" + escapedStep(base) + "/schema"
	switch base {
	case typeSSE:
		return c.checkServerSent(pointer+"/content/application~1json/schema", body)
	case "application/json":
	default:
		return c.schema(at).Validate(body)
	}
	return c.checkJSON(at, body, target)
}

// checkJSON looks at one value, or at one a line of a stream.
func (c *contract) checkJSON(pointer string, body string, target *url.URL) error {
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	stream := strings.HasSuffix(target.Path, "/stream")
	for n := 0; ; n++ {
		var value any
		switch err := decoder.Decode(&value); {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return fmt.Errorf("value %d: %w", n, err)
		case n > 0 && !stream:
			return errors.New("a second value, and it is no stream")
		}
		if err := c.checkValue(pointer, value, target); err != nil {
			return err
		}
	}
}

func (c *contract) checkValue(pointer string, value any, target *url.URL) error {
	fields, picked := target.Query()["fields"]
	at, said := c.meant(pointer)
	if !picked || at == "/components/schemas/Failure" {
		return c.schema(pointer).Validate(value)
	}
	objects := []any{value}
	if said["type"] == "array" {
		list, ok := value.([]any)
		if !ok {
			return errors.New("no list")
		}
		objects = list
		at, said = c.meant(at + "/items")
	}
	if said["properties"] == nil {
		return c.schema(pointer).Validate(value)
	}
	for _, one := range objects {
		if err := c.checkPicked(at, said, one, strings.Split(fields[0], ",")); err != nil {
			return err
		}
	}
	return nil
}

// checkPicked looks at an object of which only some fields were asked for: no
// others are there, and none of those that always are is missing.
func (c *contract) checkPicked(pointer string, said jsonObject, value any, fields []string) error {
	given, ok := value.(jsonObject)
	if !ok {
		return errors.New("no object")
	}
	properties := said["properties"].(jsonObject)
	for name, inner := range given {
		if properties[name] == nil || !slices.Contains(fields, name) {
			return fmt.Errorf("field %s was not asked for", name)
		}
		if err := c.schema(pointer + "/properties/" + name).Validate(inner); err != nil {
			return err
		}
	}
	required, _ := said["required"].([]any)
	for _, name := range required {
		if _, ok := given[name.(string)]; !ok && slices.Contains(fields, name.(string)) {
			return fmt.Errorf("field %s is missing", name)
		}
	}
	return nil
}

// meant is what a pointer leads to, through references, and where that is.
func (c *contract) meant(pointer string) (string, jsonObject) {
	here := any(c.document)
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch inside := here.(type) {
		case jsonObject:
			here = c.followed(inside)[unescapedStep.Replace(step)]
		case []any:
			i, _ := strconv.Atoi(step)
			here = inside[i]
		}
	}
	said, _ := here.(jsonObject)
	if ref, ok := said["$ref"].(string); ok {
		return c.meant(strings.TrimPrefix(ref, "#"))
	}
	return pointer, said
}

// The steps of a pointer have a way of their own to write a slash.
var unescapedStep = strings.NewReplacer("~1", "/", "~0", "~")

func escapedStep(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// keeps fails the test if the answer breaks the contract.
func (c *contract) keeps(t testing.TB, method, target string, w *httptest.ResponseRecorder) {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	assert.NilError(t, err)
	content := ""
	if method != http.MethodHead {
		content = unpacked(t, w)
	}
	err = c.check(method, u, w, content)
	assert.Assert(t, err == nil, "%s %s: %d: %v\n%.2000s", method, target, w.Code, err, content)
}
