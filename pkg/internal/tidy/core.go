package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// core is where the rules of this file hold; tests are free.
const core = "pkg/core"

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
