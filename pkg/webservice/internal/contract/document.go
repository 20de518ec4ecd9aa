package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Object is an object of JSON.
type Object = map[string]any

// An Operation is one path and method of the document.
type Operation struct {
	Path, Method string
	Said         Object
}

// A Document is an OpenAPI document, read.
type Document struct {
	Root Object
	// Validate holds a value against the schema that a pointer into the document
	// leads to. Only what checks answers needs it.
	Validate func(pointer string, value any) error
}

// Parse reads a document in JSON. Numbers stay as they are written.
func Parse(content []byte) (*Document, error) {
	root, err := decode(content)
	if err != nil {
		return nil, err
	}
	object, ok := root.(Object)
	if !ok {
		return nil, errors.New("the document is no object")
	}
	return &Document{Root: object}, nil
}

// decode reads one value and nothing after it.
func decode(content []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

// At is what a pointer such as /paths/x leads to, through references.
func (d *Document) At(pointer ...string) Object {
	here := d.Root
	for _, step := range pointer {
		next, _ := here[step].(Object)
		here = d.followed(next)
	}
	return here
}

// followed is what is meant where a reference may be.
func (d *Document) followed(node Object) Object {
	for {
		ref, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		node = d.At(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
}

// Operations are all there are, by path and method.
func (d *Document) Operations() (out []Operation) {
	paths := d.At("paths")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(Object)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			if method != "parameters" {
				out = append(out, Operation{path, strings.ToUpper(method), item[method].(Object)})
			}
		}
	}
	return out
}

// Find is the operation that a request is for; false if there is none. Of several
// paths that fit, the one with the fewest parameters is meant.
func (d *Document) Find(method, path string) (Operation, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var best Operation
	for _, op := range d.Operations() {
		if op.Method != method || !fits(op.Path, path) {
			continue
		}
		if best.Path == "" || strings.Count(op.Path, "{") < strings.Count(best.Path, "{") {
			best = op
		}
	}
	return best, best.Path != ""
}

// Parameters are those of an operation that are in a place, by name.
func (d *Document) Parameters(op Operation, in string) map[string]Object {
	out := map[string]Object{}
	for _, of := range []Object{d.Root["paths"].(Object)[op.Path].(Object), op.Said} {
		list, _ := of["parameters"].([]any)
		for _, one := range list {
			if p := d.followed(one.(Object)); p["in"] == in {
				out[p["name"].(string)] = p
			}
		}
	}
	return out
}

// fits reports whether a path is one of a pattern. What a parameter stands for is
// neither empty nor an escaped slash alone, which net/http takes for the end.
func fits(pattern, path string) bool {
	if strings.HasSuffix(pattern, "/") {
		return path == pattern
	}
	wanted, given := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(wanted) != len(given) {
		return false
	}
	for i, segment := range wanted {
		if strings.HasPrefix(segment, "{") {
			if given[i] == "" || strings.EqualFold(given[i], "%2F") {
				return false
			}
		} else if segment != given[i] {
			return false
		}
	}
	return true
}

// Response is what an operation may answer with a status, and where that is said.
// Of some answers it is said for all operations at once.
func (d *Document) Response(op Operation, status int, shared string) (pointer string, said Object) {
	if shared != "" {
		return "/components/responses/" + shared, d.At("components", "responses", shared)
	}
	pointer = "/paths/" + EscapeStep(op.Path) + "/" + strings.ToLower(op.Method) + "/responses/" + fmt.Sprint(status)
	raw, _ := op.Said["responses"].(Object)[fmt.Sprint(status)].(Object)
	if ref, ok := raw["$ref"].(string); ok {
		return strings.TrimPrefix(ref, "#"), d.followed(raw)
	}
	return pointer, raw
}

// Meant is what a pointer leads to, through references, and where that is.
func (d *Document) Meant(pointer string) (string, Object) {
	here := any(d.Root)
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch inside := here.(type) {
		case Object:
			here = d.followed(inside)[unEscapeStep.Replace(step)]
		case []any:
			i, _ := strconv.Atoi(step)
			here = inside[i]
		}
	}
	said, _ := here.(Object)
	if ref, ok := said["$ref"].(string); ok {
		return d.Meant(strings.TrimPrefix(ref, "#"))
	}
	return pointer, said
}

// The steps of a pointer have a way of their own to write a slash.
var unEscapeStep = strings.NewReplacer("~1", "/", "~0", "~")

// EscapeStep is a name as a step of a pointer.
func EscapeStep(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
