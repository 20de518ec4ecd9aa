package tidy

import "go/ast"

// The budgets. Lines of a function include its first and last.
const (
	linesOfFile     = 399
	linesOfTestFile = 799
	linesOfFunction = 60
	parametersMax   = 5
)

func fileLength(f file, found report) {
	most := linesOfFile
	if f.test {
		most = linesOfTestFile
	}
	if f.written && f.lines > most {
		found(f.path, 0, "has %d lines, %d are the most", f.lines, most)
	}
}

func functionLength(f file, found report) {
	if f.test || !f.written {
		return
	}
	for _, declaration := range f.syntax.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := f.set.Position(function.End()).Line - f.line(function.Type) + 1
		if lines > linesOfFunction {
			found(f.path, f.line(function.Type), "%s has %d lines, %d are the most", function.Name.Name, lines, linesOfFunction)
		}
	}
}

// parameters looks at declarations, literals, function types and methods of
// interfaces alike; a receiver does not count.
func parameters(f file, found report) {
	if f.test || !f.written {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if function, ok := n.(*ast.FuncType); ok && function.Params.NumFields() > parametersMax {
			found(f.path, f.line(function), "takes %d parameters, %d are the most", function.Params.NumFields(), parametersMax)
		}
		return true
	})
}
