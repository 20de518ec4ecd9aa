package tidy

import (
	"go/ast"
	"maps"
	"slices"
)

// The budgets. Lines of a function include its first and last.
const (
	linesOfFile     = 399
	linesOfTestFile = 799
	linesOfFunction = 60
	parametersMax   = 5
	methodsMax      = 40
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

// methods counts the methods of each type over all files of its directory.
func methods(files []file, found report) {
	count := make(map[string]int)
	for _, f := range files {
		for _, declaration := range f.syntax.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv != nil && f.written {
				count[receiver(function)]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] > methodsMax {
			found(files[0].dir, 0, "%s has %d methods, %d are the most", name, count[name], methodsMax)
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(method *ast.FuncDecl) string {
	t := method.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
