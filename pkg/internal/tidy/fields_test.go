package tidy

import (
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
)

// TestFieldsOfTheCore keeps each field to the package that declares it. Call a method of that package where
// another one writes it, or keep what only that one needs in a table of its own.
func TestFieldsOfTheCore(t *testing.T) {
	problems, err := CheckFields(os.DirFS("../../.."))
	assert.NilError(t, err)
	for _, p := range problems {
		t.Error(p)
	}
}

// written is a core with a ledger of which it does something.
func written(statement string) fstest.MapFS {
	files := clean()
	maps.Copy(files, map[string]string{
		"pkg/core/ledger/a.go": "// Package ledger has nodes.\npackage ledger\n\n// A Node is one.\ntype Node struct {\n\tOwn  []*Node\n\tFree struct{ Count int }\n}\n\n// Take takes.\nfunc (n *Node) Take() { n.Free.Count-- }\n",
		"pkg/core/a.go":        "package core\n\nimport \"github.com/narwhal-scheduler/narwhal/pkg/core/ledger\"\n\nfunc f(n *ledger.Node) { " + statement + " }\n",
	})
	repository := fstest.MapFS{}
	for name, content := range files {
		repository[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return repository
}

// TestWritesAreFound writes the fields of another package in each way there is.
func TestWritesAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	tests := []struct{ statement, want string }{
		{"n.Free.Count++", "ledger.Count ledger.Free"},
		{"n.Own[0], n = nil, nil", "ledger.Own"},
		{"n.Own = nil", "ledger.Own"},
		{"for _, n.Own = range [][]*ledger.Node{} {\n\t}", "ledger.Own"},
		{"clear(n.Own)", "ledger.Own"},
		{"_ = &n.Own", "ledger.Own"},
		{"*n = ledger.Node{}", "*ledger.Node"},
		{"n.Take()", ""},
		{"_, n = n.Own[0], &ledger.Node{}", ""},
	}
	for _, test := range tests {
		problems, err := CheckFields(written(test.statement))
		assert.NilError(t, err)
		var found []string
		for _, p := range problems {
			name, ok := strings.CutSuffix(strings.TrimPrefix(p.Text, "writes "), ", which package ledger alone does")
			assert.Assert(t, ok && p.Path == "pkg/core/a.go" && p.Line == 5, p)
			found = append(found, name)
		}
		assert.Equal(t, strings.Join(found, " "), test.want, test.statement)
	}
	_, err := CheckFields(written("n.Gone = true"))
	assert.ErrorContains(t, err, "checking pkg/core: pkg/core/a.go:5:28: n.Gone undefined")
}
