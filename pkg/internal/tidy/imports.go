package tidy

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	module = "github.com/narwhal-scheduler/narwhal/"
	si     = "github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	btree  = "github.com/google/btree"
)

// An importRule says what the files of a directory, and of those below it, may
// import. Of the two lists, the empty one does not count. A name that ends in
// a slash stands for everything below it, one of ours leaves out the module.
type importRule struct {
	in   string
	but  string   // a directory below it that is left out, with those below
	only []string // of what is outside and, with ours, of this repository
	not  []string
	ours bool // only is about packages of this repository
	why  string
}

var importRules = []importRule{
	{in: "pkg/resources", ours: true, why: "resources are at the bottom"},
	{in: "pkg/core", ours: true, only: []string{"pkg/resources", "pkg/core", "pkg/core/"}, why: "nothing points up"},
	{in: "pkg/core", only: coreImports, why: "the core has no clock, lock, log, socket or goroutine"},
	{in: "pkg/config", ours: true, only: []string{"pkg/resources", "pkg/core", "pkg/core/", "pkg/internal/yamltree"}, why: "nothing points up"},
	{in: "pkg/outcomes", ours: true, only: []string{"pkg/core", "pkg/core/"}, why: "nothing points up"},
	{in: "pkg/messages", ours: true, only: []string{"pkg/resources"}, why: "nothing points up"},
	{in: "pkg/reports", ours: true, only: []string{"pkg/resources", "pkg/explain", "pkg/explain/", "pkg/wording", "pkg/core", "pkg/core/"}, why: "nothing points up"},
	{in: "pkg/events", ours: true, only: []string{"pkg/resources", "pkg/messages", "pkg/core", "pkg/core/", "pkg/outcomes", "pkg/reports"}, why: "nothing points up"},
	{in: "pkg/simulator", but: "pkg/simulator/live", not: []string{"pkg/scheduler", "context", "sync", "sync/"}, why: "only pkg/simulator/live has goroutines and locks"},
	{in: "pkg/webservice", not: []string{"pkg/scheduler"}, why: "it is handed what it needs as an interface"},
	{in: "pkg/webservice/failure", ours: true, why: "nothing points up"},
	{in: "pkg/webservice/encoder", ours: true, only: []string{"pkg/resources"}, why: "nothing points up"},
	{in: "pkg/webservice/query", ours: true, only: []string{"pkg/resources", "pkg/webservice/encoder", "pkg/webservice/failure"}, why: "nothing points up"},
	{in: "pkg/webservice/configuration", ours: true, only: []string{"pkg/resources", "pkg/config", "pkg/core/"}, why: "nothing points up"},
	{in: "pkg/webservice/object", not: []string{"pkg/webservice", "pkg/webservice/past", "pkg/webservice/explanation"}, why: "nothing points up"},
	{in: "pkg/webservice/past", not: []string{"pkg/webservice", "pkg/webservice/explanation"}, why: "it knows of objects, and of nothing above"},
	{in: "pkg/webservice/explanation", not: []string{"pkg/webservice", "pkg/webservice/past"}, why: "it knows of objects, and of nothing above"},
	{in: "pkg/kubernetes/shim", not: []string{"pkg/core"}, why: "it could drive another scheduler"},
	{in: "pkg", not: []string{"k8s.io/", "sigs.k8s.io/"}, why: "only pkg/kubernetes knows of Kubernetes"},
	{in: "cmd", not: []string{"k8s.io/", "sigs.k8s.io/"}, why: "only pkg/kubernetes knows of Kubernetes"},
}

// coreImports is the plain part of the standard library and two modules.
var coreImports = []string{
	"bytes", "cmp", "container/heap", "encoding/binary", "errors", "fmt", "iter", "maps", "math", "math/bits", "regexp", "slices",
	"sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
	si, btree,
	"pkg/resources", "pkg/core", "pkg/core/",
}

// outsideModules are the directories with modules of their own, for which the
// rules about Kubernetes do not hold.
var outsideModules = []string{"pkg/kubernetes", "pkg/yunikorn", "cmd/narwhal-bench"}

func imports(f file, found report) {
	if f.test {
		return
	}
	for _, spec := range f.syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it
		}
		for _, r := range importRules {
			if r.covers(f) && r.forbids(name) {
				found(f.path, f.line(spec), "imports %s: %s", name, r.why)
				break
			}
		}
	}
}

func (r importRule) covers(f file) bool {
	if r.but != "" && f.within(r.but) {
		return false
	}
	if parent, ok := strings.CutSuffix(r.in, "/*"); ok {
		return f.within(parent) && f.dir != parent
	}
	if r.in == "pkg" || r.in == "cmd" {
		return f.within(r.in) && !slices.ContainsFunc(outsideModules, f.within)
	}
	return f.within(r.in)
}

func (r importRule) forbids(imported string) bool {
	name, ours := strings.CutPrefix(imported, module)
	is := func(pattern string) bool {
		return name == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(name, pattern)
	}
	switch {
	case len(r.not) > 0:
		return slices.ContainsFunc(r.not, is)
	case r.ours && !ours:
		return false
	}
	return !slices.ContainsFunc(r.only, is)
}

// notInRoot are modules that the root module does not require. The modules below it do.
var notInRoot = []struct{ prefix, why string }{
	{"k8s.io/", "would move the versions of programs that import this module"},
	{"sigs.k8s.io/", "would move the versions of programs that import this module"},
	{"github.com/chromedp/", "is for tests of the module pkg/webservice/acceptance"},
	{"github.com/getkin/kin-openapi", "is for tests of the module pkg/webservice/acceptance"},
	{"github.com/pb33f/", "is for tests of the module pkg/webservice/acceptance"},
	{"github.com/santhosh-tekuri/jsonschema", "is for tests of the module pkg/webservice/acceptance"},
}

// smallRoot keeps notInRoot out of the root module, directly and indirectly.
func smallRoot(t *tree, found report) {
	for _, x := range t.texts {
		if x.path != "go.mod" {
			continue
		}
		for i, line := range x.lines {
			for word := range strings.FieldsSeq(line) {
				for _, m := range notInRoot {
					if strings.HasPrefix(word, m.prefix) {
						found(x.path, i+1, "requires %s, which %s", word, m.why)
					}
				}
			}
		}
	}
}

// sameVersions has modules that are built with the root require what that requires in the same version: its
// packages are compiled once for all of them.
func sameVersions(t *tree, found report) {
	root := make(map[string]string)
	for _, x := range t.texts {
		if x.path == "go.mod" {
			for _, line := range x.lines {
				name, version := required(line)
				root[name] = version
			}
		}
	}
	for _, x := range t.texts {
		if path.Base(x.path) != "go.mod" || !slices.ContainsFunc(x.lines, func(line string) bool { return strings.Contains(line, ownRoot) }) {
			continue
		}
		for i, line := range x.lines {
			if name, version := required(line); root[name] != "" && root[name] != version {
				found(x.path, i+1, "requires %s %s, and the root %s", name, version, root[name])
			}
		}
	}
}

// ownRoot is where a go.mod takes the root from.
var ownRoot = strings.TrimSuffix(module, "/") + " => "

// required are the name and the version that a line of go.mod requires, if it does.
func required(line string) (name, version string) {
	if words := strings.Fields(strings.TrimPrefix(line, "require ")); len(words) > 1 && strings.HasPrefix(words[1], "v") {
		return words[0], words[1]
	}
	return "", ""
}

// top is what the top level holds, besides names that start with a dot.
var top = []string{"CHANGELOG.md", "LICENSE", "Makefile", "README.md", "cmd", "docs", "go.mod", "go.sum", "pkg"}

func topLevel(t *tree, found report) {
	for _, name := range t.top {
		if !strings.HasPrefix(name, ".") && !slices.Contains(top, name) {
			found(name, 0, "does not belong at the top, where only %s are", strings.Join(top, ", "))
		}
	}
	for _, name := range top {
		if !slices.Contains(t.top, name) {
			found(name, 0, "is missing at the top")
		}
	}
}
