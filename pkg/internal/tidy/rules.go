package tidy

import (
	"fmt"
	"io/fs"
	"slices"
)

// A Problem is one place where a rule is broken.
type Problem struct {
	Rule string
	Path string // slash separated, from the top of the repository
	Line int    // zero when the problem is not in one line
	Text string
}

// String is the problem as a compiler would print it.
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s (%s)", p.Path, p.Text, p.Rule)
	}
	return fmt.Sprintf("%s:%d: %s (%s)", p.Path, p.Line, p.Text, p.Rule)
}

// A rule looks at one thing at a time; the fields it does not need are nil.
type rule struct {
	name string
	file func(file, report)   // for every Go file
	text func(text, report)   // for every file
	tree func(*tree, report)  // once
	dir  func([]file, report) // for every directory with Go files, tests left out
}

// report takes a problem; the rule is filled in.
type report func(path string, line int, format string, args ...any)

// rules is every rule there is.
var rules = []rule{
	{name: "top level", tree: topLevel},
	{name: "root module", tree: smallRoot},
	{name: "versions", tree: sameVersions},
	{name: "imports", file: imports},
	{name: "no clock in the core", file: noClock},
	{name: "no goroutine in the core", file: noGoroutine},
	{name: "integers in the core", file: noFloats},
	{name: "no goroutine without the race detector", tree: notRaced},
	{name: "file length", file: fileLength},
	{name: "package size", dir: packageSize},
	{name: "function length", file: functionLength},
	{name: "parameters", file: parameters},
	{name: "exported names", dir: exportedNames},
	{name: "order of the core", file: orderOfCore},
	{name: "no facets in the core", file: noFacet},
	{name: "files of the core", dir: listOfFiles},
	{name: "package name", file: packageName},
	{name: "package comment", dir: packageComment},
	{name: "documented", file: documented},
	{name: "no paths of a machine", text: machinePaths},
	{name: "links", tree: links},
	{name: "tests that documents name", tree: namedTests},
	{name: "length of documents", tree: documentLength},
	{name: "words of the field", file: namesInGo, text: wordsInTexts},
	{name: "no internal identifiers", file: identifiersInGo, text: identifiersInTexts},
}

// Check applies every rule to the repository and returns the problems, sorted
// by path and line. An error means that something could not be read or parsed.
func Check(repository fs.FS) ([]Problem, error) {
	t, err := read(repository)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, r := range rules {
		r.apply(t, func(path string, line int, format string, args ...any) {
			problems = append(problems, Problem{Rule: r.name, Path: path, Line: line, Text: fmt.Sprintf(format, args...)})
		})
	}
	slices.SortStableFunc(problems, compareProblems)
	return problems, nil
}

func (r rule) apply(t *tree, found report) {
	if r.tree != nil {
		r.tree(t, found)
	}
	for _, x := range t.texts {
		if r.text != nil {
			r.text(x, found)
		}
	}
	for _, f := range t.files {
		if r.file != nil {
			r.file(f, found)
		}
	}
	for _, d := range t.directories() {
		if r.dir != nil {
			r.dir(d, found)
		}
	}
}
