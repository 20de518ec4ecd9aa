package tidy

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// core is where the rules of this file hold; tests are free.
const core = "pkg/core"

// packagesOfCore are the packages of the core: each may import those above it.
var packagesOfCore = []string{
	"pkg/core/laws", "pkg/core/tables", "pkg/core/nodeset", "pkg/core/order", "pkg/core/timers", "pkg/core/access", "pkg/core/placement", "pkg/core/devices", "pkg/core/scarcity",
	"pkg/core/guard", "pkg/core/preemptor", "pkg/core/api", "pkg/core/ledger", "pkg/core/topology", "pkg/core/answers", "pkg/core/backlog", "pkg/core/question", "pkg/core/preemption", "pkg/core/group", core, "pkg/core/worlds",
}

func orderOfCore(f file, found report) {
	if f.test || !f.within(core) {
		return
	}
	here := slices.Index(packagesOfCore, f.dir)
	if here < 0 {
		found(f.path, f.line(f.syntax.Name), "%s has no place among the packages of the core", f.dir)
		return
	}
	for _, spec := range f.syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		imported, ours := strings.CutPrefix(name, module)
		if err != nil || !ours {
			continue
		}
		if there := slices.Index(packagesOfCore, imported); there >= here {
			found(f.path, f.line(spec), "imports %s, which stands below it in the order of the core", imported)
		}
	}
}

// noFacet keeps out types that are another type with other methods: a struct of nothing but an
// embedded pointer to a type of its package. They divide the methods of a type and nothing else. Events
// may be of that form, so that they are one pointer.
func noFacet(f file, found report) {
	if f.test || !f.within(core) || f.dir == "pkg/core/api" {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		declared, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := declared.Type.(*ast.StructType)
		if !ok || len(fields.Fields.List) != 1 || len(fields.Fields.List[0].Names) > 0 {
			return true
		}
		if pointer, ok := fields.Fields.List[0].Type.(*ast.StarExpr); ok {
			if of, ok := pointer.X.(*ast.Ident); ok {
				found(f.path, f.line(n), "%s is %s with other methods, which belong to that", declared.Name.Name, of.Name)
			}
		}
		return true
	})
}

// clocks are the names of package time that read a clock, wait for one or
// depend on the machine.
var clocks = []string{
	"After", "AfterFunc", "LoadLocation", "Local", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick",
	"Ticker", "Timer", "Until",
}

func noClock(f file, found report) {
	if f.test || !f.within(core) {
		return
	}
	name := nameOf(f, "time")
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if isNamed(selector.X, name) && slices.Contains(clocks, selector.Sel.Name) {
			found(f.path, f.line(n), "uses time.%s: time is an argument", selector.Sel.Name)
		}
		return true
	})
}

func isNamed(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// nameOf is the name by which a file knows an import, or nothing.
func nameOf(f file, imported string) string {
	for _, spec := range f.syntax.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || path != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return imported
	}
	return ""
}

func noGoroutine(f file, found report) {
	if f.test || !f.within(core) {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found(f.path, f.line(n), "starts a goroutine: a partition has one owner")
		case *ast.ChanType, *ast.SelectStmt:
			found(f.path, f.line(n), "uses a channel: a partition has one owner")
		}
		return true
	})
}

// noFloats keeps floating point out: a NaN in a comparison destroys a tree, and
// sums depend on their order.
func noFloats(f file, found report) {
	if f.test || !f.within(core) {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if slices.Contains([]string{"float32", "float64", "complex64", "complex128"}, n.Name) {
				found(f.path, f.line(n), "uses %s: the core counts in integers", n.Name)
			}
		case *ast.BasicLit:
			if n.Kind == token.FLOAT || n.Kind == token.IMAG {
				found(f.path, f.line(n), "uses %s: the core counts in integers", n.Value)
			}
		}
		return true
	})
}

// filesListed is from how many files on a package of the core lists all of them in its comment.
const filesListed = 12

var fileNames = regexp.MustCompile(`\b[a-z_]+\.go\b`)

// listOfFiles reports files that the comment of a large package of the core does not list, and those that
// it lists and has not. The comment is where a reader begins.
func listOfFiles(files []file, found report) {
	if len(files) < filesListed || !files[0].within(core) {
		return
	}
	listed := make(map[string]bool)
	for _, f := range files {
		for _, name := range fileNames.FindAllString(f.syntax.Doc.Text(), -1) {
			listed[name] = true
		}
	}
	for _, f := range files {
		name := path.Base(f.path)
		if name != "doc.go" && !listed[name] {
			found(f.path, 0, "is not listed in the comment of its package")
		}
		delete(listed, name)
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		found(files[0].dir, 0, "lists %s in its comment, and has no such file", name)
	}
}
