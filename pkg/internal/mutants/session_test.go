package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// list accepts one fault that survives, one that is killed, and one that is none.
const list = `# A comment.

counter/counter.go Larger boundary
	- if a < b {
	+ if a <= b {
	same: of two equal numbers
	either is the larger.

counter/counter.go Larger negate
	- if a < b {
	+ if !(a < b) {
	open: it is hard to see.

counter/counter.go Gone delete
	- gone()
	same: it was here.

other/other.go Gone delete
	- gone()
	same: of a package that is not looked at.
`

// newTestSession plays the faults of the tiny package with outcomes by function, and
// counts how many are tried.
func newTestSession(t *testing.T, journal *journal, tried *int) (*session, *strings.Builder) {
	t.Helper()
	listed, err := parseSurvivors(list)
	assert.NilError(t, err)
	var out strings.Builder
	return &session{
		root:     tiny(t),
		targets:  []target{{dir: "counter", count: 100, tests: []suite{{dir: "counter"}}}, {dir: "user", count: 1, tests: []suite{{dir: "user"}}}},
		list:     listed,
		results:  journal,
		together: newSchema(),
		out:      &out,
		clock:    func() time.Time { return time.Time{} },
		exist:    make(map[string]bool),
		try: func(_ context.Context, f fault, content []byte, _ []suite) (result, error) {
			assert.Assert(t, strings.Contains(string(content), f.after))
			*tried++
			switch {
			case f.function == "Half", f.function == "Larger" && f.operator == "boundary":
				return result{outcome: survived}, nil
			case f.function == "Log":
				return result{timedOut, "counter"}, nil
			default:
				return result{killed, "counter TestX"}, nil
			}
		},
	}, &out
}

// TestSession prints progress, the table, and what is wrong: a survivor that is not
// listed, an entry that a test finds, an entry that is no fault.
func TestSession(t *testing.T) {
	j, err := openJournal(filepath.Join(t.TempDir(), "results"), "tree", false)
	assert.NilError(t, err)
	var tried int
	s, out := newTestSession(t, j, &tried)
	well, err := s.play(t.Context())
	assert.NilError(t, err)
	assert.Assert(t, !well)
	golden.Assert(t, out.String(), "session.golden")
	assert.NilError(t, j.close())
}

// TestResume plays again with the same file of results: nothing is tried. After a
// change of the tree everything is tried, or, with keep, what was not killed.
func TestResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	play := func(tree string, keep bool) (int, string) {
		j, err := openJournal(path, tree, keep)
		assert.NilError(t, err)
		var tried int
		s, out := newTestSession(t, j, &tried)
		_, err = s.play(t.Context())
		assert.NilError(t, err)
		assert.NilError(t, j.close())
		return tried, out.String()
	}
	all, first := play("one", false)
	assert.Assert(t, all > 10)

	// A run that is ended while it writes leaves a part of a line.
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	assert.NilError(t, err)
	_, err = file.WriteString(`{"tree":"one","fau` + "\n")
	assert.NilError(t, err)
	assert.NilError(t, file.Close())

	again, second := play("one", false)
	assert.Equal(t, again, 0)
	assert.Equal(t, second, first)
	kept, _ := play("two", true)
	assert.Assert(t, 0 < kept && kept < all, "%d", kept)
	changed, _ := play("three", false)
	assert.Equal(t, changed, all)
}

func TestShow(t *testing.T) {
	var tried int
	s, out := newTestSession(t, nil, &tried)
	s.count = 3
	assert.NilError(t, s.show())
	assert.Equal(t, strings.Count(out.String(), "\n"), 3)
	assert.Equal(t, tried, 0)
}

func TestParseSurvivors(t *testing.T) {
	got, err := parseSurvivors(list)
	assert.NilError(t, err)
	assert.Equal(t, len(got), 4)
	f := fault{file: "counter/counter.go", function: "Larger", operator: "boundary", before: "if a < b {", after: "if a <= b {", repeat: 1}
	entry := got[f.name()]
	assert.Equal(t, entry.line, 3)
	assert.Assert(t, entry.same)
	assert.Equal(t, entry.reason, "same: of two equal numbers either is the larger.")

	for name, bad := range map[string]string{
		"no reason":           "a.go F delete\n\t- f()\n",
		"a reason of its own": "a.go F delete\n\t- f()\n\tno test\n",
		"twice":               "a.go F delete\n\t- f()\n\tsame: x\n\na.go F delete\n\t- f()\n\topen: y\n",
	} {
		_, err := parseSurvivors(bad)
		assert.ErrorContains(t, err, "line ", name)
	}
}

// TestTheListCanBeRead reads the list of this repository.
func TestTheListCanBeRead(t *testing.T) {
	_, err := survivors("survivors.txt")
	assert.NilError(t, err)
	none, err := survivors("nothing.txt")
	assert.NilError(t, err)
	assert.Equal(t, len(none), 0)
}

// TestFingerprint changes with code, tests and their data, and with nothing else.
func TestFingerprint(t *testing.T) {
	root := t.TempDir()
	sum := func(name, content string) string {
		path := filepath.Join(root, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
		number, err := fingerprint(root, "tools")
		assert.NilError(t, err)
		return number
	}
	before := sum("a/a.go", "package a\n")
	for _, name := range []string{"README.md", "tools/t.go", ".git/x.go"} {
		assert.Equal(t, sum(name, "x"), before, name)
	}
	for _, name := range []string{"a/a.go", "a/a_test.go", "a/testdata/x.txt", "go.mod"} {
		after := sum(name, "package b\n")
		assert.Assert(t, after != before, name)
		before = after
	}
}
