package tidy

import (
	"go/ast"
	"slices"
)

// The budgets. Lines of a function include its first and last.
const (
	linesOfFile     = 399
	linesOfTestFile = 799
	linesOfFunction = 60
	parametersMax   = 5
	exportedMax     = 25
	filesOfPackage  = 30
	linesOfPackage  = 6000
)

// isData are packages which are what others read: they export what there is to say.
var isData = []string{"pkg/core/api", "pkg/core/preemptor", "pkg/webservice/client"}

func fileLength(f file, found report) {
	most := linesOfFile
	if f.test {
		most = linesOfTestFile
	}
	if f.written && f.lines > most {
		found(f.path, 0, "has %d lines, %d are the most", f.lines, most)
	}
}

// packageSize counts the files and lines of the packages of the core, tests left out.
func packageSize(files []file, found report) {
	if !files[0].within(core) {
		return
	}
	lines := 0
	for _, f := range files {
		lines += f.lines
	}
	if len(files) > filesOfPackage || lines > linesOfPackage {
		found(files[0].dir, 0, "has %d lines in %d files, %d in %d are the most", lines, len(files), linesOfPackage, filesOfPackage)
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

// exportedNames counts what the packages of the core and of the web service export, methods
// and fields left out.
func exportedNames(files []file, found report) {
	dir := files[0].dir
	if !files[0].within(core) && !files[0].within("pkg/webservice") || slices.Contains(isData, dir) {
		return
	}
	count := 0
	for _, f := range files {
		for _, declaration := range f.syntax.Decls {
			count += len(exportedBy(declaration))
		}
	}
	if count > exportedMax {
		found(dir, 0, "exports %d names, %d are the most", count, exportedMax)
	}
}

// exportedBy are the exported names that a declaration brings into its package.
func exportedBy(declaration ast.Decl) (names []string) {
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add(s.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					add(id)
				}
			}
		}
	}
	return names
}
