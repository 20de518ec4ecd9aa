package tidy

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// plainOfCore are the packages of the core whose types are data: a value is built where it is filled.
// All other types hold state, of which laws are kept by the package that declares them.
var plainOfCore = []string{"pkg/core/api", "pkg/core/preemptor", "pkg/core/devices"}

// CheckFields keeps the fields of state to the packages of the core that declare them: others read them, and
// call methods. A write is an assignment, also of the whole value behind a pointer, and what hands out the
// address of what is no state itself. Types are those that the compiler sees. It returns the problems by package
// and place. An error means that something does not compile.
func CheckFields(repository fs.FS) ([]Problem, error) {
	t, err := read(repository)
	if err != nil {
		return nil, err
	}
	c := checker{tree: t, known: map[string]*types.Package{}}
	for _, dir := range append([]string{"pkg/resources"}, packagesOfCore...) {
		if err := c.check(dir); err != nil {
			return nil, fmt.Errorf("checking %s: %w", dir, err)
		}
	}
	return c.problems, nil
}

// A checker checks packages one after the other, each after those that it imports.
type checker struct {
	*tree
	problems []Problem
	known    map[string]*types.Package // of this repository
	compiled types.Importer            // of others
	info     *types.Info
	here     *types.Package
}

// check checks the types of a package, and which fields it writes.
func (c *checker) check(dir string) error {
	var syntax []*ast.File
	for _, f := range c.files {
		if f.dir == dir && !f.test {
			syntax = append(syntax, f.syntax)
		}
	}
	if len(syntax) == 0 {
		return nil
	}
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: c}
	here, err := config.Check(module+dir, c.set, syntax, c.info)
	if err != nil {
		return err
	}
	c.known[module+dir], c.here = here, here
	for _, file := range syntax {
		ast.Inspect(file, c.look)
	}
	return nil
}

// Import is a package by its path.
func (c *checker) Import(path string) (*types.Package, error) {
	if known := c.known[path]; known != nil {
		return known, nil
	}
	if c.compiled == nil {
		c.compiled = importer.ForCompiler(c.set, "gc", c.open())
	}
	return c.compiled.Import(path)
}

// open gives what the compiler knows of the packages that those of the core import.
func (c *checker) open() func(path string) (io.ReadCloser, error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", module+core).Output()
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, errors.Join(fmt.Errorf("%s is not compiled", path), err)
		}
		return os.Open(files[path])
	}
}

// look finds what is written in a statement.
func (c *checker) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, to := range n.Lhs {
				c.writes(to)
			}
		}
	case *ast.IncDecStmt:
		c.writes(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.writes(n.Key)
			c.writes(n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND && !c.isState(c.info.TypeOf(n.X)) {
			c.writes(n.X)
		}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"clear", "copy", "delete"}, name.Name) && c.info.Types[n.Fun].IsBuiltin() {
			c.writes(n.Args[0])
		}
	}
	return true
}

// writes reports the fields of other packages that are written with an expression: that which it names,
// and those around it whose values hold that.
func (c *checker) writes(to ast.Expr) {
	for {
		switch x := to.(type) {
		case *ast.ParenExpr:
			to = x.X
		case *ast.IndexExpr:
			to = x.X
		case *ast.SliceExpr:
			to = x.X
		case *ast.StarExpr:
			if of, ok := types.Unalias(c.info.TypeOf(x)).(*types.Named); ok && c.isState(of) {
				c.report(x, of.Obj().Pkg(), "*", of.Obj().Name())
			}
			return
		case *ast.SelectorExpr:
			field, ok := c.info.Selections[x]
			if !ok || field.Kind() != types.FieldVal {
				return
			}
			if of := field.Obj().Pkg(); holdsState(of) {
				c.report(x.Sel, of, "", x.Sel.Name)
			}
			if _, pointer := c.info.TypeOf(x.X).Underlying().(*types.Pointer); pointer {
				return
			}
			to = x.X
		default:
			return
		}
	}
}

// report reports what is written of a package, unless that is the one that is checked.
func (c *checker) report(n ast.Node, of *types.Package, star, name string) {
	if of == c.here {
		return
	}
	at := c.set.Position(n.Pos())
	text := fmt.Sprintf("writes %s%s.%s, which package %s alone does", star, of.Name(), name, of.Name())
	c.problems = append(c.problems, Problem{Rule: "fields of the core", Path: at.Filename, Line: at.Line, Text: text})
}

// isState reports whether a type is a struct of the core that holds state.
func (c *checker) isState(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !holdsState(named.Obj().Pkg()) {
		return false
	}
	_, ok = named.Underlying().(*types.Struct)
	return ok
}

// holdsState reports whether the types of a package hold state.
func holdsState(p *types.Package) bool {
	dir, ours := strings.CutPrefix(p.Path(), module)
	return ours && (dir == core || strings.HasPrefix(dir, core+"/")) && !slices.Contains(plainOfCore, dir)
}
