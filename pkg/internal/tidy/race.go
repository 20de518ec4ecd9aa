package tidy

import (
	"go/ast"
	"regexp"
	"strings"
)

// The variables of the Makefile that say, as regular expressions, which packages are played
// without the race detector, and which with it and without it.
const (
	unracedIs = "UNRACED :="
	twiceIs   = "TWICE :="
)

// notRaced is what packages and their tests must not have if the race detector does not see
// them: goroutines, or tests that run beside each other. What is skipped with the race
// detector must be played without it.
func notRaced(t *tree, found report) {
	unraced, twice := t.expression(unracedIs, found), t.expression(twiceIs, found)
	if unraced == nil {
		return
	}
	const why = "and the Makefile plays this package without the race detector"
	for _, f := range t.files {
		if path := module + f.dir; !unraced.MatchString(path) {
			if !t.nested(f) && (twice == nil || !twice.MatchString(path)) {
				neverShort(f, found)
			}
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found(f.path, f.line(n), "starts a goroutine, %s", why)
			case *ast.ChanType:
				found(f.path, f.line(n), "uses a channel, %s", why)
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Parallel" && f.test {
					found(f.path, f.line(n), "runs beside other tests, %s", why)
				}
			}
			return true
		})
	}
}

// neverShort sees that no test of a package which is only played with -short is skipped by it.
func neverShort(f file, found report) {
	name := nameOf(f, "testing")
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && f.test && isNamed(s.X, name) && s.Sel.Name == "Short" {
			found(f.path, f.line(n), "asks for -short, with which alone the Makefile plays this package; TWICE lists those played without it too")
		}
		return true
	})
}

// nested reports whether a file is of another module than that of the root.
func (t *tree) nested(f file) bool {
	for _, x := range t.texts {
		if dir, is := strings.CutSuffix(x.path, "/go.mod"); is && f.within(dir) {
			return true
		}
	}
	return false
}

// expression is the value of a variable of the Makefile; nil without one.
func (t *tree) expression(variable string, found report) *regexp.Regexp {
	for _, x := range t.texts {
		if x.path != "Makefile" {
			continue
		}
		for i, line := range x.lines {
			value, is := strings.CutPrefix(line, variable)
			if !is {
				continue
			}
			expression, err := regexp.Compile(strings.ReplaceAll(strings.TrimSpace(value), "$$", "$"))
			if err != nil {
				found(x.path, i+1, "%s", err)
				return nil
			}
			return expression
		}
	}
	return nil
}
