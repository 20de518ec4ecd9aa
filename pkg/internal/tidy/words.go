package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// emptyNames say nothing about what is in a package.
var emptyNames = []string{
	"base", "common", "helper", "helpers", "manager", "managers", "misc", "shared", "types", "util", "utils",
}

// namedElsewhere are directories whose packages have the names that programs import, which
// were written for another module.
var namedElsewhere = []string{"pkg/yunikorn/pkg"}

func packageName(f file, found report) {
	if slices.ContainsFunc(namedElsewhere, f.within) {
		return
	}
	name := strings.TrimSuffix(f.syntax.Name.Name, "_test")
	program := name == "main" // which has the name of its directory, and is imported by no other
	if slices.Contains(emptyNames, name) || !program && slices.Contains(emptyNames, path.Base(f.dir)) {
		found(f.path, f.line(f.syntax.Name), "package %s in %s: a package is a noun a colleague would say", name, f.dir)
	}
}

func packageComment(files []file, found report) {
	for _, f := range files {
		if f.syntax.Doc == nil {
			continue
		}
		comment := f.syntax.Doc.Text()
		name := f.syntax.Name.Name
		if name != "main" && !strings.HasPrefix(comment, "Package "+name+" ") {
			found(f.path, f.line(f.syntax.Name), "the package comment does not begin with Package %s", name)
		}
		return
	}
	found(files[0].dir, 0, "no file has a package comment")
}

// plain are methods whose name says all there is to say.
var plain = []string{
	"Error", "String", "Unwrap", "Is", "As", "Len", "Less", "Swap", "Push", "Pop", "Read", "Write", "Close", "ServeHTTP",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "MarshalYAML", "UnmarshalYAML",
}

// documented asks for a comment on everything exported; a group of constants
// or variables may share one.
func documented(f file, found report) {
	if f.test || !f.written || f.syntax.Name.Name == "main" {
		return
	}
	for _, declaration := range f.syntax.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) && !(d.Recv != nil && slices.Contains(plain, d.Name.Name)) {
				found(f.path, f.line(d.Name), "%s is exported and has no comment", d.Name.Name)
			}
		case *ast.GenDecl:
			for _, name := range undocumented(d) {
				found(f.path, f.line(name), "%s is exported and has no comment", name.Name)
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			exported = name.IsExported()
			return false
		}
		// Only the type itself, not its parameters.
		_, isIndex := n.(*ast.IndexExpr)
		_, isStar := n.(*ast.StarExpr)
		return isIndex || isStar
	})
	return exported
}

func undocumented(d *ast.GenDecl) []*ast.Ident {
	if d.Tok == token.IMPORT || d.Tok != token.TYPE && d.Doc != nil {
		return nil
	}
	var names []*ast.Ident
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) && s.Name.IsExported() {
				names = append(names, s.Name)
			}
		case *ast.ValueSpec:
			if s.Doc != nil || s.Comment != nil {
				continue
			}
			for _, name := range s.Names {
				if name.IsExported() {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// machinePath is an absolute path that exists on one machine only; temporary
// directories are looked for in documents alone, since programs may name them.
var (
	machinePath   = regexp.MustCompile(`(^|[\s"'(=:` + "`" + `])/(work|root|home|Users)/`)
	temporaryPath = regexp.MustCompile(`(^|[\s"'(=:` + "`" + `])/tmp/`)
)

func machinePaths(x text, found report) {
	for i, line := range x.lines {
		if machinePath.MatchString(line) || path.Ext(x.path) == ".md" && temporaryPath.MatchString(line) {
			found(x.path, i+1, "names a path of one machine")
		}
	}
}
