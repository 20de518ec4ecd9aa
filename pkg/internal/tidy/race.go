package tidy

import (
	"go/ast"
	"regexp"
	"strings"
)

// racedIs is the variable of the Makefile that says, as a regular expression, which packages of the root are
// played with the race detector.
const racedIs = "RACED :="

// notRaced is what other packages and their tests must not have, as the race detector does not see them: goroutines, or
// tests that run beside each other.
func notRaced(t *tree, found report) {
	raced := t.expression(racedIs, found)
	if raced == nil {
		return
	}
	const why = "and the Makefile plays this package without the race detector"
	for _, f := range t.files {
		if raced.MatchString(module+f.dir) || t.nested(f) {
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
