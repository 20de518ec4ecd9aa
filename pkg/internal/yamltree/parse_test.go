package yamltree_test

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

func lineOf(t *testing.T, text string) int {
	t.Helper()
	_, _, err := yamltree.Parse(text)
	var wrong *yamltree.SyntaxError
	assert.Assert(t, errors.As(err, &wrong), "%q: %v", text, err)
	return wrong.Line
}

// TestLineOfFault: each text has one fault, in the line that ends with "# here", whatever
// comes before it and after it.
func TestLineOfFault(t *testing.T) {
	before := strings.Repeat("more:\n  - {a: 1, b: [2, 3]}\n  - c: \"d\"\n", 30)
	after := strings.Repeat("  - name: z\n    list: [1, 2]\n", 30)
	for _, fault := range []string{
		"p:\n  - name: a\n    r: {g: {vcore: 1} # here\n  - name: b\n",
		"p:\n  - name: a\n\t   parent: true # here\n",
		"p:\n  - name: a\n   parent: true # here\n",
		"p:\n  - name: a\n    n: a: b # here\n",
		"p:\n  - name: a\n    n: * # here\n",
		"p:\n  - name: a\n  x: y # here\n",
		"p:\n  name: a\n    x: y # here\n",
		"p:\n  name: a\n  x # here\n  y: 1\n",
		"p:\n  name: @a # here\n  y: 1\n",
		"p:\n  name: \"a\\q\" # here\n  y: 1\n",
		"p:\n  - name: a\n    x: } # here\n",
		"p:\n  - name: a\n    x: [1, 2 # here\n  - name: c\n    y: 3\n",
	} {
		want := strings.Count(fault[:strings.Index(fault, "# here")], "\n") + 1
		assert.Equal(t, lineOf(t, fault), want, fault)
		assert.Equal(t, lineOf(t, fault+after), want, fault)
		assert.Equal(t, lineOf(t, before+fault), want+strings.Count(before, "\n"), fault)
		assert.Equal(t, lineOf(t, before+fault+after), want+strings.Count(before, "\n"), fault)
	}
	// Of what is never closed it is where it begins, and of JSON where it could go on.
	assert.Equal(t, lineOf(t, "a: 1\nb: \"c\nd: e\n"), 2)
	assert.Equal(t, lineOf(t, "a: 1\nb: {c: 1\n"), 2)
	assert.Equal(t, lineOf(t, "{\n\"a\": 1,\n\"b\": 2\n\"c\": 3,\n\"d\": 4\n}\n"), 3)
}

// TestLineOfFaultInLargeText: of a text that is ten times as large as what is looked at, the
// line is what the parser names.
func TestLineOfFaultInLargeText(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	large := strings.Repeat("# "+strings.Repeat("x", 1<<20)+"\n", 41)
	assert.Equal(t, lineOf(t, large+"a: 1\n\tb: 1\n"), 42)
	assert.Equal(t, lineOf(t, "a: 1\n\tb: 1\n"+large), 2)
}
