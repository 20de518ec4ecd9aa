package webservice

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestOpenAPIHasEveryParameter gives every operation every parameter that any has,
// twice. One that it knows is refused or makes a difference; any other does not.
func TestOpenAPIHasEveryParameter(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	document, handler := agreed(t), newWorld(t).service(t).both()
	names := parametersRead(t)
	for _, op := range document.Own() {
		for name := range document.Parameters(op, "query") {
			assert.Assert(t, names[name], "nothing reads %s", name)
		}
	}
	for _, op := range document.Own() {
		_, plain := document.Ask(handler, op, "")
		said := document.Parameters(op, "query")
		for name := range names {
			target, w := document.Ask(handler, op, name+"=x&"+name+"=y")
			known := w.Code == http.StatusBadRequest || w.Body.String() != plain.Body.String()
			if strings.HasPrefix(fmt.Sprint(plain.Code), "3") {
				known = w.Code != plain.Code
			}
			assert.Check(t, known == (said[name] != nil), "%s: known %v, in the document %v", target, known, said[name] != nil)
		}
	}
}

// queryReaders are the functions that look at the query themselves.
var queryReaders = []string{"Describe", "Queue", "Read", "Wanted", "number", "redirect", "subjectOf", "visible", "withoutStatus"}

// parametersRead finds the names of all parameters in the source of this package and of
// those below that answer requests. The query is read in a few functions, to which the names are given.
func parametersRead(t *testing.T) map[string]bool {
	t.Helper()
	names, readers := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	below, err := filepath.Glob("*/*.go")
	assert.NilError(t, err)
	for _, file := range append(files, below...) {
		if strings.HasSuffix(file, "_test.go") || slices.Contains([]string{"acceptance", "client", "dashboard"}, filepath.Dir(file)) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
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
	if n, ok := n.(*ast.CallExpr); ok {
		name := fmt.Sprint(n.Fun)
		if selector, ok := n.Fun.(*ast.SelectorExpr); ok {
			name = selector.Sel.Name
		}
		if index, ok := n.Fun.(*ast.IndexExpr); ok {
			name = fmt.Sprint(index.X)
		}
		if slices.Contains([]string{"by", "has", "number", "one", "texts", "truth", "words"}, strings.ToLower(name)) {
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
