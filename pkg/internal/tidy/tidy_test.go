package tidy

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
)

// TestRepository keeps the rules. A failure means that the code changes, or the
// rule together with its reason.
func TestRepository(t *testing.T) {
	problems, err := Check(os.DirFS("../../.."))
	assert.NilError(t, err)
	for _, p := range problems {
		t.Error(p)
	}
}

// TestTheDesignShowsTheCore compares the picture of the packages of the core with their order.
func TestTheDesignShowsTheCore(t *testing.T) {
	design, err := os.ReadFile("../../../docs/design.md")
	assert.NilError(t, err)
	_, section, found := strings.Cut(string(design), "## The packages of the core\n")
	assert.Assert(t, found)
	section, _, found = strings.Cut(section, "\n## ")
	assert.Assert(t, found)
	var shown []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z/]+)`").FindAllStringSubmatch(section, -1) {
		shown = append(shown, "pkg/"+row[1])
	}
	assert.DeepEqual(t, shown, packagesOfCore)
}

// clean is a repository without problems, which each case spoils.
func clean() map[string]string {
	return map[string]string{
		"go.mod":                "module x\n",
		"go.sum":                "",
		"Makefile":              "test:\n",
		"CHANGELOG.md":          "# Changes\n",
		"README.md":             "# Read me\n",
		"LICENSE":               "Do.\n",
		".gitignore":            "/bin/\n*.prof\n",
		"docs/design.md":        "A ledger.\n",
		"cmd/narwhal/main.go":   "// The command.\npackage main\n\nfunc main() {}\n",
		"pkg/core/doc.go":       "// Package core is the core.\npackage core\n",
		"pkg/core/order/o.go":   "// Package order orders.\npackage order\n",
		"pkg/core/core_test.go": "package core\n\nimport \"os\"\n\nvar _ = os.Args\n",
		"pkg/resources/doc.go":  "// Package resources counts.\npackage resources\n\nimport \"sync\"\n\nvar _ sync.Mutex\n",
		"bin/left-over.go":      "not even Go",
		"x.prof":                "",
	}
}

func check(t *testing.T, files map[string]string) string {
	t.Helper()
	repository := fstest.MapFS{}
	for name, content := range files {
		repository[name] = &fstest.MapFile{Data: []byte(content)}
	}
	problems, err := Check(repository)
	assert.NilError(t, err)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func TestCleanRepositoryPasses(t *testing.T) {
	assert.Equal(t, check(t, clean()), "")
}

func core1(body string) map[string]string {
	return map[string]string{"pkg/core/a.go": "package core\n\n" + body}
}

// manyFiles are those of a package that lists some of them, and has twelve.
func manyFiles(listed string) map[string]string {
	files := map[string]string{"pkg/core/devices/doc.go": "// Package devices has " + strings.ReplaceAll(listed, " ", ".go, ") + ".go.\npackage devices\n"}
	for name := range strings.FieldsSeq("a b c d e f g h i j k l") {
		files["pkg/core/devices/"+name+".go"] = "package devices\n"
	}
	return files
}

// sized is a package of the core with so many files, which it lists, of so many lines.
func sized(files, lines int) map[string]string {
	all := make(map[string]string)
	for i := range files {
		name := strings.Repeat("f", i+1)
		all["pkg/core/devices/"+name+".go"] = "// Package devices has " + name + ".go.\npackage devices\n" + strings.Repeat("//\n", lines-2)
	}
	return all
}

// unraced is a test of a package that is played without the race detector.
func unraced(body string) map[string]string {
	return map[string]string{
		"Makefile":           "RACED := /narwhal/pkg/(archive)$$\n",
		"pkg/plot/doc.go":    "// Package plot plots.\npackage plot\n",
		"pkg/plot/a_test.go": "package plot\n\n" + body,
	}
}

// longDocuments are some of 3,000 words each, of which one is in another directory.
func longDocuments(n int) map[string]string {
	files := map[string]string{"docs/internals/z.md": "Five words are in here.", "pkg/x/README.md": strings.Repeat("word ", 9000)}
	for i := range n {
		files["docs/"+string(rune('a'+i))+".md"] = strings.Repeat("word ", 3000)
	}
	return files
}

// TestEveryRuleCanFail spoils the clean repository in one way at a time.
func TestEveryRuleCanFail(t *testing.T) {
	tests := []struct {
		name string
		bad  map[string]string
		want string
	}{
		{"stranger at the top", map[string]string{"scripts/x.sh": ""}, "scripts: does not belong at the top, where only CHANGELOG.md, LICENSE, Makefile, README.md, cmd, docs, go.mod, go.sum, pkg are (top level)"},
		{"kubernetes in the root module", map[string]string{"go.mod": "module x\n\nrequire k8s.io/api v0.1.0\n"}, "go.mod:3: requires k8s.io/api, which would move the versions of programs that import this module (root module)"},
		{"schemas in the root module", map[string]string{"go.mod": "module x\n\nrequire (\n\tgithub.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect\n)\n"}, "go.mod:4: requires github.com/santhosh-tekuri/jsonschema/v6, which is for tests of the module pkg/webservice/acceptance (root module)"},
		{"browsers in the root module", map[string]string{"go.mod": "module x\n\nrequire github.com/chromedp/chromedp v0.23.0\n"}, "go.mod:3: requires github.com/chromedp/chromedp, which is for tests of the module pkg/webservice/acceptance (root module)"},
		{"other versions in a module that is built with the root", map[string]string{
			"go.mod":              "module x\n\nrequire google.golang.org/grpc v1.82.1\n",
			"pkg/yunikorn/go.mod": "module y\n\nrequire (\n\tgoogle.golang.org/grpc v1.83.0 // indirect\n)\n\nreplace github.com/narwhal-scheduler/narwhal => ../..\n",
		}, "pkg/yunikorn/go.mod:4: requires google.golang.org/grpc v1.83.0, and the root v1.82.1 (versions)"},
		{"lock in the core", core1("import \"sync\"\n\nvar _ sync.Mutex\n"), "pkg/core/a.go:3: imports sync: the core has no clock, lock, log, socket or goroutine (imports)"},
		{"atomics in the core", core1("import _ \"sync/atomic\"\n"), "pkg/core/a.go:3: imports sync/atomic: the core has no clock, lock, log, socket or goroutine (imports)"},
		{"context in the core", core1("import _ \"context\"\n"), "pkg/core/a.go:3: imports context: the core has no clock, lock, log, socket or goroutine (imports)"},
		{"files in the core", core1("import _ \"os\"\n"), "pkg/core/a.go:3: imports os: the core has no clock, lock, log, socket or goroutine (imports)"},
		{"chance in the core", core1("import _ \"math/rand/v2\"\n"), "pkg/core/a.go:3: imports math/rand/v2: the core has no clock, lock, log, socket or goroutine (imports)"},
		{"sockets in the core", core1("import _ \"net/http\"\n"), "pkg/core/a.go:3: imports net/http: the core has no clock, lock, log, socket or goroutine (imports)"},
		{"log in the core", core1("import _ \"go.uber.org/zap\"\n"), "pkg/core/a.go:3: imports go.uber.org/zap: the core has no clock, lock, log, socket or goroutine (imports)"},
		{"a part of the web service points up", map[string]string{"pkg/webservice/query/a.go": "// Package query is one.\npackage query\n\nimport _ \"github.com/narwhal-scheduler/narwhal/pkg/webservice/object\"\n"}, "pkg/webservice/query/a.go:4: imports github.com/narwhal-scheduler/narwhal/pkg/webservice/object: nothing points up (imports)"},
		{"core points up", core1("import _ \"github.com/narwhal-scheduler/narwhal/pkg/scheduler\"\n"), "pkg/core/a.go:3: imports github.com/narwhal-scheduler/narwhal/pkg/scheduler: nothing points up (imports)"},
		{"below core points up", map[string]string{"pkg/core/order/a.go": "package order\n\nimport _ \"github.com/narwhal-scheduler/narwhal/pkg/core\"\n"}, "pkg/core/order/a.go:3: imports pkg/core, which stands below it in the order of the core (order of the core)"},
		{"resources point up", map[string]string{"pkg/resources/a.go": "package resources\n\nimport _ \"github.com/narwhal-scheduler/narwhal/pkg/core\"\n"}, "pkg/resources/a.go:3: imports github.com/narwhal-scheduler/narwhal/pkg/core: resources are at the bottom (imports)"},
		{"kubernetes outside its module", map[string]string{"cmd/narwhal/k.go": "package main\n\nimport _ \"k8s.io/api/core/v1\"\n"}, "cmd/narwhal/k.go:3: imports k8s.io/api/core/v1: only pkg/kubernetes knows of Kubernetes (imports)"},
		{"clock in the core", core1("import clock \"time\"\n\nvar _ = clock.Now()\n"), "pkg/core/a.go:5: uses time.Now: time is an argument (no clock in the core)"},
		{"timer in the core", core1("import \"time\"\n\nvar _ = time.NewTimer\n"), "pkg/core/a.go:5: uses time.NewTimer: time is an argument (no clock in the core)"},
		{"goroutine in the core", core1("func f() {\n\tgo f()\n}\n"), "pkg/core/a.go:4: starts a goroutine: a partition has one owner (no goroutine in the core)"},
		{"channel in the core", core1("var c chan int\n"), "pkg/core/a.go:3: uses a channel: a partition has one owner (no goroutine in the core)"},
		{"goroutine that is not raced", unraced("func f() {\n\tgo f()\n}\n"), "pkg/plot/a_test.go:4: starts a goroutine, and the Makefile plays this package without the race detector (no goroutine without the race detector)"},
		{"channel that is not raced", unraced("var c chan int\n"), "pkg/plot/a_test.go:3: uses a channel, and the Makefile plays this package without the race detector (no goroutine without the race detector)"},
		{"parallel tests that are not raced", unraced("func f(t tests) { t.Parallel() }\n"), "pkg/plot/a_test.go:3: runs beside other tests, and the Makefile plays this package without the race detector (no goroutine without the race detector)"},
		{"wrong expression for what is not raced", map[string]string{"Makefile": "RACED := (\n"}, "Makefile:1: error parsing regexp: missing closing ): `(` (no goroutine without the race detector)"},
		{"lock in the simulator", map[string]string{"pkg/simulator/a.go": "// Package simulator simulates.\npackage simulator\n\nimport _ \"sync\"\n"}, "pkg/simulator/a.go:4: imports sync: only pkg/simulator/live has goroutines and locks (imports)"},
		{"scheduler in the simulator", map[string]string{"pkg/simulator/a.go": "// Package simulator simulates.\npackage simulator\n\nimport _ \"github.com/narwhal-scheduler/narwhal/pkg/scheduler\"\n"}, "pkg/simulator/a.go:4: imports github.com/narwhal-scheduler/narwhal/pkg/scheduler: only pkg/simulator/live has goroutines and locks (imports)"},
		{"float type in the core", core1("var x float64\n"), "pkg/core/a.go:3: uses float64: the core counts in integers (integers in the core)"},
		{"float number in the core", core1("var x = 1.5\n"), "pkg/core/a.go:3: uses 1.5: the core counts in integers (integers in the core)"},
		{"long file", core1(strings.Repeat("// x\n", 398)), "pkg/core/a.go: has 400 lines, 399 are the most (file length)"},
		{"long test file", map[string]string{"pkg/core/a_test.go": "package core\n" + strings.Repeat("// x\n", 799)}, "pkg/core/a_test.go: has 800 lines, 799 are the most (file length)"},
		{"long function", core1("func f() {\n" + strings.Repeat("\t_ = 0\n", 59) + "}\n"), "pkg/core/a.go:3: f has 61 lines, 60 are the most (function length)"},
		{"many parameters", core1("func (t t) f(a, b, c int, d, e, f string) {}\n"), "pkg/core/a.go:3: takes 6 parameters, 5 are the most (parameters)"},
		{"many exported names", core1(strings.Repeat("// F is one.\nfunc F() {}\n", 20) + strings.Repeat("// T is one.\ntype T int\n", 6)), "pkg/core: exports 26 names, 25 are the most (exported names)"},
		{"many files in a package of the core", sized(31, 2), "pkg/core/devices: has 62 lines in 31 files, 6000 in 30 are the most (package size)"},
		{"many lines in a package of the core", sized(16, 376), "pkg/core/devices: has 6016 lines in 16 files, 6000 in 30 are the most (package size)"},
		{"facet of a type", core1("type t struct{ a int }\n\ntype by struct{ *t }\n"), "pkg/core/a.go:5: by is t with other methods, which belong to that (no facets in the core)"},
		{"file that its package does not list", manyFiles("a b c d e f g h i j k"), "pkg/core/devices/l.go: is not listed in the comment of its package (files of the core)"},
		{"file that is listed and missing", manyFiles("a b c d e f g h i j k l m"), "pkg/core/devices: lists m.go in its comment, and has no such file (files of the core)"},
		{"package without a place", map[string]string{"pkg/core/new/a.go": "// Package new is new.\npackage new\n"}, "pkg/core/new/a.go:2: pkg/core/new has no place among the packages of the core (order of the core)"},
		{"empty package name", map[string]string{"pkg/util/a.go": "// Package util has things.\npackage util\n"}, "pkg/util/a.go:2: package util in pkg/util: a package is a noun a colleague would say (package name)"},
		{"no package comment", map[string]string{"pkg/core/doc.go": "package core\n"}, "pkg/core: no file has a package comment (package comment)"},
		{"other package comment", map[string]string{"pkg/core/doc.go": "// The core.\npackage core\n"}, "pkg/core/doc.go:2: the package comment does not begin with Package core (package comment)"},
		{"bare function", core1("func F() {}\n"), "pkg/core/a.go:3: F is exported and has no comment (documented)"},
		{"bare method", core1("// T is one.\ntype T[K any] struct{}\n\nfunc (t *T[K]) Do() {}\n"), "pkg/core/a.go:6: Do is exported and has no comment (documented)"},
		{"bare type", core1("type T struct{}\n"), "pkg/core/a.go:3: T is exported and has no comment (documented)"},
		{"bare constant", core1("const C = 1\n"), "pkg/core/a.go:3: C is exported and has no comment (documented)"},
		{"no such test", map[string]string{"docs/a.md": "It is\n`TestA`, `TestB`.\n", "pkg/core/a_test.go": "package core\n\nfunc TestA() {}\n"}, "docs/a.md:2: there is no TestB (tests that documents name)"},
		{"link to no file", map[string]string{"docs/a.md": "See\n[b](b.md).\n"}, "docs/a.md:2: b.md leads nowhere (links)"},
		{"link to no heading", map[string]string{"docs/a.md": "# One\n\n[two](#two)\n"}, "docs/a.md:3: #two leads nowhere (links)"},
		{"link to no heading of another page", map[string]string{"docs/a.md": "[x](../README.md#x)\n"}, "docs/a.md:1: ../README.md#x leads nowhere (links)"},
		{"long document", map[string]string{"docs/a.md": strings.Repeat("word ", 3501)}, "docs/a.md: 3501 words, more than 3500 (length of documents)"},
		{"long documents", longDocuments(10), "docs: 30012 words in all documents, more than 30000 (length of documents)"},
		{"path in a document", map[string]string{"docs/design.md": "See\n/tmp" + "/notes.\n"}, "docs/design.md:2: names a path of one machine (no paths of a machine)"},
		{"path in code", core1("const c = \"/work" + "/main\"\n"), "pkg/core/a.go:3: names a path of one machine (no paths of a machine)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := clean()
			maps.Copy(files, test.bad)
			assert.Equal(t, check(t, files), test.want)
		})
	}
}

func TestMissingAtTheTop(t *testing.T) {
	files := clean()
	delete(files, "LICENSE")
	assert.Equal(t, check(t, files), "LICENSE: is missing at the top (top level)")
}

// TestAllowed is what the rules must leave alone.
func TestAllowed(t *testing.T) {
	files := clean()
	maps.Copy(files, core1(`import "time"

// The units.
const (
	A = time.Second
	B = time.Minute
)

// T is one.
type T struct{}

func (T) String() string { return "" }

type t struct{}

func (t) Exported() {}

func f(a, b, c, d, e int) {}
`))
	files["pkg/yunikorn/pkg/types/a.go"] = "// Package types is named so elsewhere.\npackage types\n"
	files["Makefile"] = "RACED := /narwhal/pkg/simulator/live$$\n"
	files["pkg/simulator/live/a_test.go"] = "package live\n\nfunc f(t tests) { t.Parallel() }\n"
	files["pkg/nested/go.mod"] = "module nested\n"
	files["pkg/nested/a_test.go"] = "package nested\n\nfunc f() { go f() }\n"
	files["pkg/simulator/live/a.go"] = "// Package live is concurrent.\npackage live\n\nimport _ \"sync\"\n\nfunc f() { go f() }\n"
	files["docs/a.md"] = "# What is `new`, and why\n\n[r](../README.md#read-me) [d](../pkg/core) [w](https://example.com/x) [h](#what-is-new-and-why)\n"
	assert.Equal(t, check(t, files), "")
}

func TestUnreadableGoIsAnError(t *testing.T) {
	_, err := Check(fstest.MapFS{"a.go": {Data: []byte("no Go\n")}})
	assert.ErrorContains(t, err, "parsing: a.go:1:1")
}
