package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A schema is packages with all faults of a sample at once, so that they are compiled once and not
// once for each fault: a function has a copy of itself for each of its faults, and begins by asking
// which one is on (Untch, Offutt and Harrold, Mutation Analysis Using Mutant Schemata, 1993). What
// stands outside of functions cannot be switched, and is compiled for itself.
type schema struct {
	numbers map[string]int    // from one, by the name of the fault
	files   map[string][]byte // what stands in place of a file, by its path from the top
}

func newSchema() *schema {
	return &schema{numbers: make(map[string]int), files: make(map[string][]byte)}
}

// mutantOn is the variable of the environment that says which fault is on.
const mutantOn = "NARWHAL_MUTANT"

// switchText is the file of a package that asks which fault is on.
const switchText = `package %s

import (
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv(%q))
`

// add puts faults of a package into the schema.
func (s *schema) add(from *source, faults []fault) {
	for _, file := range from.files {
		content := slices.Clone(file.content)
		for _, d := range slices.Backward(file.syntax.Decls) { // what stands before keeps its place
			function, ok := d.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			w := switcher{function: function, set: from.set, content: file.content}
			from, to := w.offset(function.Pos()), w.offset(function.End())
			inside := func(f fault) bool { return f.file == file.path && from <= f.start && f.end <= to }
			if own := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !inside(f) }); len(own) > 0 {
				content = slices.Concat(content[:from], []byte(w.switched(own, s.number)), content[to:])
			}
		}
		if len(content) > len(file.content) {
			s.files[file.path] = content
			s.files[path.Join(path.Dir(file.path), "mutants_switch.go")] = fmt.Appendf(nil, switchText, file.syntax.Name.Name, mutantOn)
		}
	}
}

// number gives a fault the next number.
func (s *schema) number(f fault) int {
	n := len(s.numbers) + 1
	s.numbers[f.name()] = n
	return n
}

// A switcher writes a function that asks which fault is on.
type switcher struct {
	function *ast.FuncDecl
	set      *token.FileSet
	content  []byte // of its file
}

func (w *switcher) offset(at token.Pos) int { return w.set.Position(at).Offset }

// switched is the function, and a copy for each fault.
func (w *switcher) switched(faults []fault, number func(fault) int) string {
	from, named, body, to := w.offset(w.function.Pos()), w.offset(w.function.Name.End()), w.offset(w.function.Body.Lbrace)+1, w.offset(w.function.End())
	var cases, copies strings.Builder
	for _, f := range faults {
		n := number(f)
		fmt.Fprintf(&cases, "case %d: %s; ", n, w.call(n))
		fmt.Fprintf(&copies, "\n\n%s_%d%s%s%s", w.content[from:named], n, w.content[named:f.start], f.text, w.content[f.end:to])
	}
	return w.signature(from, body) + " switch mutantOn { " + cases.String() + "}; " + string(w.content[body:to]) + copies.String()
}

// A parameter is the receiver or what a function is called with.
type parameter struct {
	at   token.Pos // of its name, or of its type
	name string    // nothing, or _, if it has none
}

func (w *switcher) parameters() []parameter {
	var all []parameter
	fields := w.function.Type.Params.List
	if w.function.Recv != nil {
		fields = slices.Concat(w.function.Recv.List, fields)
	}
	for _, f := range fields {
		for _, name := range f.Names {
			all = append(all, parameter{at: name.Pos(), name: name.Name})
		}
		if len(f.Names) == 0 {
			all = append(all, parameter{at: f.Type.Pos()})
		}
	}
	return all
}

// signature is a part of the source, where each parameter has a name.
func (w *switcher) signature(from, to int) string {
	var b strings.Builder
	for i, p := range w.parameters() {
		if p.name != "" && p.name != "_" {
			continue
		}
		at := w.offset(p.at)
		fmt.Fprintf(&b, "%s%s ", w.content[from:at], unnamed(i))
		from = at + len(p.name)
	}
	b.Write(w.content[from:to])
	return b.String()
}

func unnamed(i int) string { return fmt.Sprintf("mutant%d", i) }

// call calls the copy of a number with all that the function was called with.
func (w *switcher) call(n int) string {
	var names []string
	for i, p := range w.parameters() {
		if p.name == "" || p.name == "_" {
			p.name = unnamed(i)
		}
		names = append(names, p.name)
	}
	called := fmt.Sprintf("%s_%d", w.function.Name.Name, n)
	if w.function.Recv != nil {
		called, names = names[0]+"."+called, names[1:]
	}
	var types []string
	if w.function.Type.TypeParams != nil {
		for _, f := range w.function.Type.TypeParams.List {
			for _, name := range f.Names {
				types = append(types, name.Name)
			}
		}
		called += "[" + strings.Join(types, ", ") + "]"
	}
	arguments := strings.Join(names, ", ")
	if params := w.function.Type.Params.List; len(params) > 0 {
		if _, variadic := params[len(params)-1].Type.(*ast.Ellipsis); variadic {
			arguments += "..."
		}
	}
	if w.function.Type.Results == nil {
		return called + "(" + arguments + "); return"
	}
	return "return " + called + "(" + arguments + ")"
}

// overlay writes files into a folder, and what tells go build to take them instead of those of a
// module.
func overlay(root, folder, name string, files map[string][]byte) (string, error) {
	replace := make(map[string]string)
	for path, content := range files {
		instead := filepath.Join(folder, name+"_"+strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(instead, content, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(path))] = instead
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	told := filepath.Join(folder, name+".json")
	return told, os.WriteFile(told, text, 0o600)
}
