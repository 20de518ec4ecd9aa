package tidy

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// A tree is a repository as read: every text, and every Go file parsed.
type tree struct {
	top     []string // names at the top level, ignored ones left out
	texts   []text
	files   []file
	ignored []string // patterns of .gitignore
	set     *token.FileSet
}

// A text is a file of any kind.
type text struct {
	path  string
	lines []string
}

// A file is a parsed Go file.
type file struct {
	path    string
	dir     string
	test    bool
	lines   int
	written bool // by a person, not by a generator
	syntax  *ast.File
	set     *token.FileSet
}

func (f file) line(n ast.Node) int { return f.set.Position(n.Pos()).Line }

// within reports whether the file is in the directory or below it.
func (f file) within(dir string) bool {
	return f.dir == dir || strings.HasPrefix(f.dir, dir+"/")
}

func read(repository fs.FS) (*tree, error) {
	t := &tree{set: token.NewFileSet()}
	if patterns, err := fs.ReadFile(repository, ".gitignore"); err == nil {
		t.ignored = strings.Fields(string(patterns))
	}
	return t, fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("reading %s: %w", name, err)
		case name == ".":
			return nil
		case name == ".git" && entry.IsDir():
			return fs.SkipDir
		case name == ".git":
			return nil // of a second working tree
		case t.ignores(name) && entry.IsDir():
			return fs.SkipDir
		case t.ignores(name):
			return nil
		}
		if !strings.Contains(name, "/") {
			t.top = append(t.top, name)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		return t.add(repository, name)
	})
}

func (t *tree) add(repository fs.FS, name string) error {
	content, err := fs.ReadFile(repository, name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	t.texts = append(t.texts, text{path: name, lines: lines})
	if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
		return nil
	}
	syntax, err := parser.ParseFile(t.set, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parsing: %w", err)
	}
	t.files = append(t.files, file{
		path:    name,
		dir:     path.Dir(name),
		test:    strings.HasSuffix(name, "_test.go"),
		lines:   len(lines),
		written: !ast.IsGenerated(syntax),
		syntax:  syntax,
		set:     t.set,
	})
	return nil
}

// ignores knows the patterns in use: a name anywhere, or, with a slash in
// front, at the top.
func (t *tree) ignores(name string) bool {
	return slices.ContainsFunc(t.ignored, func(pattern string) bool {
		pattern = strings.TrimSuffix(pattern, "/")
		if top, ok := strings.CutPrefix(pattern, "/"); ok {
			matched, _ := path.Match(top, name)
			return matched
		}
		matched, _ := path.Match(pattern, path.Base(name))
		return matched
	})
}

// directories groups the Go files that are not tests, sorted by directory.
func (t *tree) directories() [][]file {
	groups := make(map[string][]file)
	for _, f := range t.files {
		if !f.test {
			groups[f.dir] = append(groups[f.dir], f)
		}
	}
	var sorted [][]file
	for _, dir := range slices.Sorted(maps.Keys(groups)) {
		sorted = append(sorted, groups[dir])
	}
	return sorted
}

func compareProblems(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
}
