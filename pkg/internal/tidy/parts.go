package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"strings"
)

// A part is some files of package core, as its package comment lists them below a heading.
type part struct {
	name  string
	files []string
}

var (
	headings  = regexp.MustCompile(`(?m)^([A-Z][a-z]+): .*$`)
	fileNames = regexp.MustCompile(`\b[a-z_]+\.go\b`)
)

// partsIn are the parts that the comment of a package lists, in its order.
func partsIn(files []file) (parts []part) {
	for _, f := range files {
		comment := f.syntax.Doc.Text()
		at := headings.FindAllStringSubmatchIndex(comment, -1)
		for i, m := range at {
			end := len(comment)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			parts = append(parts, part{comment[m[2]:m[3]], fileNames.FindAllString(comment[m[1]:end], -1)})
		}
	}
	return parts
}

// partsOfCore reports what a part of package core uses of a later one, and files that are in no part.
func partsOfCore(t *tree, found report) {
	p := packages{tree: t, checked: make(map[string]*types.Package)}
	files := p.filesOf(core)
	parts := partsIn(files)
	if len(parts) == 0 {
		return
	}
	partOf := make(map[string]int) // by file
	for i, p := range parts {
		for _, name := range p.files {
			partOf[name] = i
		}
	}
	for _, f := range files {
		if _, listed := partOf[path.Base(f.path)]; !listed {
			found(f.path, 0, "is in no part of the list in the comment of package core")
		}
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	checked := p.check(core, files, info)
	fileOf := func(pos token.Pos) string { return path.Base(files[0].set.Position(pos).Filename) }
	for id, object := range info.Uses {
		if object.Pkg() != checked || !object.Pos().IsValid() {
			continue
		}
		from, listed := partOf[fileOf(id.Pos())]
		to := partOf[fileOf(object.Pos())]
		if listed && to > from {
			at := files[0].set.Position(id.Pos())
			found(path.Join(core, path.Base(at.Filename)), at.Line, "uses %s of a later part, %s", object.Name(), parts[to].name)
		}
	}
}

// packages type-checks the packages of a tree. Packages of other modules are taken
// to be empty, and errors are ignored: what does not resolve calls nothing.
type packages struct {
	tree    *tree
	checked map[string]*types.Package
}

func (p packages) filesOf(dir string) []file {
	var files []file
	for _, f := range p.tree.files {
		if f.dir == dir && !f.test {
			files = append(files, f)
		}
	}
	return files
}

// Import makes packages an importer.
func (p packages) Import(name string) (*types.Package, error) {
	if done, ok := p.checked[name]; ok {
		return done, nil
	}
	dir, ours := strings.CutPrefix(name, module)
	if files := p.filesOf(dir); ours && len(files) > 0 {
		return p.check(dir, files, nil), nil
	}
	fake := types.NewPackage(name, path.Base(name))
	fake.MarkComplete()
	p.checked[name] = fake
	return fake, nil
}

func (p packages) check(dir string, files []file, info *types.Info) *types.Package {
	var syntax []*ast.File
	for _, f := range files {
		syntax = append(syntax, f.syntax)
	}
	config := types.Config{Importer: p, Error: func(error) {}}
	checked, _ := config.Check(module+dir, files[0].set, syntax, info) // errors are expected
	p.checked[module+dir] = checked
	return checked
}
