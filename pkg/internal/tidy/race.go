package tidy

import (
	"go/ast"
	"regexp"
	"strings"
)

// unracedIs is the variable of the Makefile that says, as a regular expression, which
// packages are played without the race detector.
const unracedIs = "UNRACED :="

// notRaced is what packages and their tests must not have if the race detector does not see
// them: goroutines, or tests that run beside each other.
func notRaced(t *tree, found report) {
	unraced := t.unraced(found)
	if unraced == nil {
		return
	}
	const why = "and the Makefile plays this package without the race detector"
	for _, f := range t.files {
		if !unraced.MatchString(module + f.dir) {
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

// unraced is the expression of the Makefile; nil without one.
func (t *tree) unraced(found report) *regexp.Regexp {
	for _, x := range t.texts {
		if x.path != "Makefile" {
			continue
		}
		for i, line := range x.lines {
			value, is := strings.CutPrefix(line, unracedIs)
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
