package tidy

import (
	"fmt"
	"maps"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
)

// circle is a core of four files, of which three call each other in a circle: a
// function, a method of a type of another package's tree, and a method value.
var circle = map[string]string{
	"pkg/core/a.go": "package core\n\nfunc a(p *partition) { p.queues.Root().b() }\n",
	"pkg/core/b.go": "package core\n\nimport \"unknown/module\"\n\nfunc (q *queue) b() { module.Do(c) }\n",
	"pkg/core/c.go": "package core\n\nfunc c() { a(nil) }\n",
	"pkg/core/d.go": "package core\n\nimport \"github.com/narwhal-scheduler/narwhal/pkg/core/order\"\n\n" +
		"type queue struct{}\n\ntype partition struct{ queues order.Tree[*queue] }\n\ntype caller interface{ call() }\n\n" +
		"func d(x caller) { x.call(); c() }\n",
	"pkg/core/e.go":       "package core\n\ntype one struct{}\n\nfunc (one) call() { d(one{}) }\n",
	"pkg/core/order/o.go": "// Package order orders.\npackage order\n\n// Tree is a tree.\ntype Tree[T any] struct{ root T }\n\n// Root is the top.\nfunc (t *Tree[T]) Root() T { return t.root }\n",
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

func TestCallCycles(t *testing.T) {
	tree := readMap(t, circle)
	assert.DeepEqual(t, calls(tree, core).components(), [][]string{{"a.go", "b.go", "c.go"}})
	var problems []string
	report := func(_ string, _ int, format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	callCyclesOver(tree, 3, report)
	assert.Equal(t, len(problems), 0)
	callCyclesOver(tree, 2, report)
	assert.DeepEqual(t, problems, []string{
		"3 files call each other in a circle, 2 are the most: a.go calls b.go (b); b.go calls c.go (c); c.go calls a.go (a)",
	})
}

// TestCallCyclesAreDivided takes one call away, and the circle is none.
func TestCallCyclesAreDivided(t *testing.T) {
	files := maps.Clone(circle)
	files["pkg/core/c.go"] = "package core\n\nfunc c() {}\n"
	assert.Equal(t, len(calls(readMap(t, files), core).components()), 0)
}
