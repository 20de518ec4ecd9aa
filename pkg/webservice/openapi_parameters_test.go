package webservice

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// An asker sends requests to the operations of a service, with the examples of the
// document for whatever the path and the body need.
type asker struct {
	*contract
	handler http.Handler
}

// ask sends one request and says what was asked for.
func (a asker) ask(op operation, query string) (target string, w *httptest.ResponseRecorder) {
	var parts map[string]string
	if strings.HasSuffix(op.path, "/queue/{queue}") {
		parts = map[string]string{"queue": "root.sys"} // which has others below
	}
	target = a.target(op, parts) + "?" + query
	body := strings.NewReader("")
	if op.method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	ctx, cancel := context.WithCancel(context.Background())
	if strings.HasSuffix(op.path, "/stream") {
		cancel() // it would go on
	}
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, op.method, target, body)
	r.Header.Set("Accept", "application/json")
	w = httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return target, w
}

// ours are the operations whose parameters are read here and not in net/http.
func (c *contract) ours() []operation {
	return slices.DeleteFunc(c.operations(), func(op operation) bool {
		return strings.HasPrefix(op.path, "/debug/") || op.path == "/ws/v1/metrics"
	})
}

// TestOpenAPIHasEveryParameter gives every operation every parameter that any has,
// twice. One that it knows is refused or makes a difference; any other does not.
func TestOpenAPIHasEveryParameter(t *testing.T) {
	a := asker{agreed(), newWorld(t).service(t).both()}
	names := parametersRead(t)
	for _, op := range a.ours() {
		for name := range a.parameters(op, "query") {
			assert.Assert(t, names[name], "nothing reads %s", name)
		}
	}
	for _, op := range a.ours() {
		_, plain := a.ask(op, "")
		said := a.parameters(op, "query")
		for name := range names {
			target, w := a.ask(op, name+"=x&"+name+"=y")
			known := w.Code == http.StatusBadRequest || w.Body.String() != plain.Body.String()
			if strings.HasPrefix(fmt.Sprint(plain.Code), "3") {
				known = w.Code != plain.Code
			}
			assert.Check(t, known == (said[name] != nil), "%s: known %v, in the document %v", target, known, said[name] != nil)
		}
	}
}

// queryReaders are the functions that look at the query themselves.
var queryReaders = []string{"describe", "number", "parametersOf", "queue", "redirect", "subject", "wanted", "withoutStatus"}

// parametersRead finds the names of all parameters in the source of this package.
// The query is read in a few functions, to which the names are given.
func parametersRead(t *testing.T) map[string]bool {
	t.Helper()
	names, readers := map[string]bool{}, map[string]bool{}
	files, err := os.ReadDir(".")
	assert.NilError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		assert.NilError(t, err)
		for _, declared := range parsed.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok {
				ast.Inspect(f, func(n ast.Node) bool {
					if readsQuery(n) {
						readers[f.Name.Name] = true
					}
					if name := parameterNamed(n); name != "" {
						names[name] = true
					}
					return true
				})
			}
		}
	}
	assert.DeepEqual(t, slices.Sorted(maps.Keys(readers)), queryReaders)
	return names
}

func readsQuery(n ast.Node) bool {
	selector, ok := n.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Query", "RawQuery", "FormValue", "ParseForm", "RequestURI", "ParseQuery"}, selector.Sel.Name) &&
		fmt.Sprint(selector.X) != "history" // which is no request
}

// parameterNamed is the name of a parameter that a part of the source has.
func parameterNamed(n ast.Node) string {
	var text ast.Expr
	switch n := n.(type) {
	case *ast.KeyValueExpr: // filter{name: "x"}
		if fmt.Sprint(n.Key) == "name" {
			text = n.Value
		}
	case *ast.CallExpr:
		name := fmt.Sprint(n.Fun)
		if selector, ok := n.Fun.(*ast.SelectorExpr); ok {
			name = selector.Sel.Name
		}
		if index, ok := n.Fun.(*ast.IndexExpr); ok {
			name = fmt.Sprint(index.X)
		}
		if slices.Contains([]string{"one", "texts", "truth", "number", "Has"}, name) {
			for _, argument := range n.Args {
				if _, ok := argument.(*ast.BasicLit); ok && text == nil {
					text = argument
				}
			}
		}
	}
	if literal, ok := text.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		name, _ := strconv.Unquote(literal.Value)
		return name
	}
	return ""
}

// TestOpenAPIHasTheBoundsOfParameters gives each parameter what the document allows
// it, and what it does not.
func TestOpenAPIHasTheBoundsOfParameters(t *testing.T) {
	a := asker{agreed(), newWorld(t).service(t).both()}
	for _, op := range a.ours() {
		for name, said := range a.parameters(op, "query") {
			good, bad := valuesOf(said)
			if name == "fields" {
				good, bad = a.fields(op), []string{"", "none", "queuename,none"}
			}
			for value, code := range codes(good, bad) {
				target, w := a.ask(op, name+"="+url.QueryEscape(value))
				assert.Check(t, w.Code == code, "%s: %d", target, w.Code)
				a.keeps(t, op.method, target, w)
			}
		}
	}
}

func codes(good, bad []string) map[string]int {
	out := map[string]int{}
	for _, value := range good {
		out[value] = http.StatusOK
	}
	for _, value := range bad {
		out[value] = http.StatusBadRequest
	}
	return out
}

// fields are the names of all fields of what an operation answers with.
func (c *contract) fields(op operation) []string {
	pointer, _ := c.response(op, http.StatusOK, "")
	at, said := c.meant(pointer + "/content/application~1json/schema")
	if said["type"] == "array" {
		_, said = c.meant(at + "/items")
	}
	return slices.Collect(maps.Keys(said["properties"].(jsonObject)))
}

// valuesOf are values of a parameter: those that are on this side of its bounds,
// and those that are just beyond.
func valuesOf(said jsonObject) (good, bad []string) {
	schema := said["schema"].(jsonObject)
	switch schema["type"] {
	case "integer":
		least, most := whole(schema["minimum"], 0), whole(schema["maximum"], 1<<62)
		good = []string{fmt.Sprint(least), fmt.Sprint(most)}
		bad = []string{fmt.Sprint(least - 1), "1.5", "x", ""}
		if schema["maximum"] != nil {
			bad = append(bad, fmt.Sprint(most+1))
		}
	case "boolean":
		return []string{"true", "false"}, []string{"", "yes"}
	default:
		good, bad = []string{"x", "x*", "*"}, []string{""}
		if schema["enum"] != nil {
			good, bad = words(said), []string{"x", "*"}
		} else if said["allowEmptyValue"] == true {
			good, bad = append(good, ""), nil
		}
	}
	return good, bad
}

// words are all that a parameter may be.
func words(said jsonObject) (out []string) {
	for _, word := range said["schema"].(jsonObject)["enum"].([]any) {
		out = append(out, word.(string))
	}
	return out
}

func whole(number any, otherwise int64) int64 {
	if n, err := strconv.ParseInt(fmt.Sprint(number), 10, 64); err == nil {
		return n
	}
	return otherwise
}
