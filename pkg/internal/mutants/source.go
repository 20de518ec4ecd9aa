package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// A source is a package, parsed and type-checked.
type source struct {
	path     string // of the import
	set      *token.FileSet
	importer types.Importer
	files    []sourceFile
	info     *types.Info
}

// A sourceFile is a file of a package.
type sourceFile struct {
	path    string // from the top of the module, with slashes
	content []byte
	syntax  *ast.File
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// load reads the package in a directory of a module. What it imports is taken from
// the cache of the compiler.
func load(root, dir string) (*source, error) {
	command := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./"+dir)
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w\n%s", dir, err, stderr.Bytes())
	}
	exports := make(map[string]string)
	var own listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var next listed
		if err := decoder.Decode(&next); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("listing %s: %w", dir, err)
		}
		exports[next.ImportPath] = next.Export
		own = next // the last is the package itself
	}
	s := &source{path: own.ImportPath, set: token.NewFileSet()}
	s.importer = importer.ForCompiler(s.set, "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })
	return s, s.parse(own, dir)
}

func (s *source) parse(own listed, dir string) error {
	for _, name := range own.GoFiles {
		content, err := os.ReadFile(filepath.Join(own.Dir, name))
		if err != nil {
			return fmt.Errorf("reading %s: %w", dir, err)
		}
		syntax, err := parser.ParseFile(s.set, name, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parsing %s: %w", dir, err)
		}
		s.files = append(s.files, sourceFile{path: path.Join(dir, name), content: content, syntax: syntax})
	}
	s.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	if err := s.check(s.info, "", nil); err != nil {
		return fmt.Errorf("checking %s: %w", dir, err)
	}
	return nil
}

// check type-checks the package, with one file exchanged.
func (s *source) check(info *types.Info, exchanged string, by *ast.File) error {
	var syntax []*ast.File
	for _, f := range s.files {
		if f.path == exchanged {
			syntax = append(syntax, by)
		} else {
			syntax = append(syntax, f.syntax)
		}
	}
	config := types.Config{Importer: s.importer}
	_, err := config.Check(s.path, s.set, syntax, info)
	return err
}

// faults enumerates the faults of the package, generated files left out, and those
// whose names match a pattern.
func (s *source) faults(without string) []fault {
	var all []fault
	for _, f := range s.files {
		if matched, _ := path.Match(without, path.Base(f.path)); matched || ast.IsGenerated(f.syntax) {
			continue
		}
		w := walker{info: s.info, set: s.set, path: f.path, content: f.content}
		all = append(all, w.walk(f.syntax)...)
	}
	return all
}

// with is the content of the file of a fault, with the fault.
func (s *source) with(f fault) []byte {
	for _, own := range s.files {
		if own.path == f.file {
			return f.applied(own.content)
		}
	}
	return nil
}

// compiles reports whether the package can be compiled with a fault. A variable that
// is not used any more is the most frequent reason why not.
func (s *source) compiles(f fault) bool {
	syntax, err := parser.ParseFile(s.set, path.Base(f.file), s.with(f), parser.SkipObjectResolution)
	return err == nil && s.check(nil, f.file, syntax) == nil
}
