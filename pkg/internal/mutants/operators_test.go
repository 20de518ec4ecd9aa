package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

func tiny(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("testdata/tiny")
	assert.NilError(t, err)
	return root
}

func loaded(t *testing.T, root, dir string) *source {
	t.Helper()
	s, err := load(root, dir)
	assert.NilError(t, err)
	return s
}

// TestOperators lists every fault of a package that has each kind. What cannot change
// behaviour, generated files and files that only check have none.
func TestOperators(t *testing.T) {
	s := loaded(t, tiny(t), "operators")
	var lines []string
	for _, f := range s.faults("verify*.go") {
		line := f.short()
		if !s.compiles(f) {
			line += "  (does not compile)"
		}
		lines = append(lines, line)
	}
	golden.Assert(t, strings.Join(lines, "\n")+"\n", "operators.golden")
}

func names(faults []fault) []string {
	var all []string
	for _, f := range faults {
		all = append(all, f.name())
	}
	return all
}

func TestNamesDiffer(t *testing.T) {
	all := names(loaded(t, tiny(t), "operators").faults(""))
	slices.Sort(all)
	assert.Equal(t, len(slices.Compact(slices.Clone(all))), len(all))
}

// TestNamesStayWhenLinesMove edits a file above a function and in another one.
func TestNamesStayWhenLinesMove(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		assert.NilError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		assert.NilError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	const first, second = "func a(n int) int { return n + 1 }\n", "func b(n int) bool { return n > 1 }\n"
	write("go.mod", "module tiny\n\ngo 1.26\n")
	write("p/p.go", "package p\n\n"+first+second)
	before := loaded(t, root, "p").faults("")
	write("p/p.go", "package p\n\n// A comment.\n\nfunc c(n int) bool { return n > 1 }\n\n"+strings.Replace(first, "n + 1", "n - 1", 1)+second)
	after := loaded(t, root, "p").faults("")

	of := func(all []fault, function string) []fault {
		return slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return f.function != function })
	}
	assert.DeepEqual(t, names(of(before, "b")), names(of(after, "b")))
	assert.Assert(t, of(before, "b")[0].line != of(after, "b")[0].line)
	assert.Assert(t, !slices.Equal(names(of(before, "a")), names(of(after, "a"))))
}

// TestSample takes as many as are wanted, in order, the same ones for the same seed,
// and not others when a fault comes in between.
func TestSample(t *testing.T) {
	all := loaded(t, tiny(t), "operators").faults("")
	every := func(fault) bool { return true }
	first := names(sample(all, 1, 10, every))
	assert.Equal(t, len(first), 10)
	assert.DeepEqual(t, first, names(sample(all, 1, 10, every)))
	assert.Assert(t, !slices.Equal(first, names(sample(all, 2, 10, every))))
	assert.DeepEqual(t, names(sample(all, 1, len(all)+1, every)), names(all))

	for _, gone := range first {
		rest := slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return f.name() == gone })
		same := 0
		for _, name := range names(sample(rest, 1, 10, every)) {
			if slices.Contains(first, name) {
				same++
			}
		}
		assert.Equal(t, same, 9)
	}

	usable := func(f fault) bool { return f.operator == "delete" }
	for _, f := range sample(all, 1, 5, usable) {
		assert.Equal(t, f.operator, "delete")
	}
}

// TestTargets: the packages of the table and their tests are there.
func TestTargets(t *testing.T) {
	for _, target := range targets {
		assert.Equal(t, target.tests[0].dir, target.dir, "its own tests come first")
		for _, tests := range target.tests {
			_, err := os.Stat(filepath.Join("../../..", tests.dir))
			assert.NilError(t, err)
		}
	}
	_, err := choose(targets, "pkg/core/order,pkg/nothing")
	assert.ErrorContains(t, err, "pkg/nothing")
	some, err := choose(targets, "pkg/config,pkg/resources")
	assert.NilError(t, err)
	assert.Equal(t, len(some), 2)
	assert.Equal(t, some[0].dir, "pkg/resources")
}
