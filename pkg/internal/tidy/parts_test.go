package tidy

import (
	"fmt"
	"maps"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
)

// divided is a core of two parts, of which the first uses nothing of the second.
var divided = map[string]string{
	"pkg/core/doc.go": "// Package core is the core.\n//\n// Ledger: the books.\n//\n//\ta.go  counts\n//\n// Backlog: what waits.\n//\n//\tb.go  waits; doc.go is this page\npackage core\n",
	"pkg/core/a.go": "package core\n\nimport \"github.com/narwhal-scheduler/narwhal/pkg/core/order\"\n\n" +
		"type queue struct{ tree order.Tree[*queue] }\n\nfunc (q *queue) count() { q.tree.Root().count() }\n",
	"pkg/core/b.go":       "package core\n\nimport \"unknown/module\"\n\nfunc next(q *queue) { q.count(); module.Do(q) }\n",
	"pkg/core/order/o.go": "// Package order orders.\npackage order\n\n// Tree is a tree.\ntype Tree[T any] struct{ root T }\n\n// Root is the top.\nfunc (t *Tree[T]) Root() T { return t.root }\n",
}

// TestPartsOfTheCore divides a core in two, and spoils it in one way at a time.
func TestPartsOfTheCore(t *testing.T) {
	const method = "package core\n\ntype queue struct{ waits int }\n\nfunc (q *queue) count() {}\n\nfunc book(q *queue) { q.wake() }\n"
	const waker = "package core\n\nfunc (q *queue) wake() { q.waits++ }\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"in order", nil, nil},
		{
			"a method of a later part",
			map[string]string{"pkg/core/a.go": method, "pkg/core/b.go": waker},
			[]string{"pkg/core/a.go:7: uses wake of a later part, Backlog"},
		},
		{
			"a file in no part",
			map[string]string{"pkg/core/c.go": "package core\n"},
			[]string{"pkg/core/c.go:0: is in no part of the list in the comment of package core"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(divided)
			maps.Copy(files, c.files)
			var problems []string
			partsOfCore(readMap(t, files), func(path string, line int, format string, args ...any) {
				problems = append(problems, fmt.Sprintf("%s:%d: ", path, line)+fmt.Sprintf(format, args...))
			})
			assert.DeepEqual(t, problems, c.want)
		})
	}
}

func readMap(t *testing.T, files map[string]string) *tree {
	t.Helper()
	repository := fstest.MapFS{}
	for name, content := range files {
		repository[name] = &fstest.MapFile{Data: []byte(content)}
	}
	read, err := read(repository)
	assert.NilError(t, err)
	return read
}
