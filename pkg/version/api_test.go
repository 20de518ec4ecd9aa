package version_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// stable are the packages of which docs/compatibility.md says that their names stay.
var stable = []string{
	"archive", "config", "events", "metrics", "scheduler", "scheduler/schedulertest", "server", "version", "webservice",
}

// TestStableNames compares what the stable packages export with the list of it. A change of a line that
// was there in a release breaks programs; -update takes the change in, and CHANGELOG.md says it.
func TestStableNames(t *testing.T) {
	page, err := os.ReadFile("../../docs/compatibility.md")
	assert.NilError(t, err)
	for _, name := range stable {
		assert.Assert(t, strings.Contains(string(page), "`pkg/"+name+"`"), "docs/compatibility.md does not name pkg/%s", name)
		golden.Assert(t, exported(t, name), strings.ReplaceAll(name, "/", "-")+".txt")
	}
}

// exported is every exported declaration of a package, sorted, without comments and bodies.
func exported(t *testing.T, name string) string {
	t.Helper()
	set := token.NewFileSet()
	files, err := filepath.Glob("../" + name + "/*.go")
	assert.NilError(t, err)
	var syntax []*ast.File
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		assert.NilError(t, err)
		syntax = append(syntax, parsed)
	}
	p, err := doc.NewFromFiles(set, syntax, "pkg/"+name)
	assert.NilError(t, err)
	var out bytes.Buffer
	say := func(declaration ast.Node) {
		assert.NilError(t, (&printer.Config{Mode: printer.RawFormat}).Fprint(&out, token.NewFileSet(), declaration))
		out.WriteString("\n")
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			say(v.Decl)
		}
	}
	functions := func(all []*doc.Func) {
		for _, f := range all {
			say(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, of := range p.Types {
		say(of.Decl)
		values(of.Consts)
		values(of.Vars)
		functions(of.Funcs)
		functions(of.Methods)
	}
	return out.String()
}
