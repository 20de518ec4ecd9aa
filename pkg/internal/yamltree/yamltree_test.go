package yamltree_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// walked is everything in a text, a line for each value.
func walked(t *testing.T, text string, most int) (lines []string, exceeded int) {
	t.Helper()
	root, _, err := yamltree.Parse(text)
	assert.NilError(t, err)
	walk := &yamltree.Walk{Max: most, Exceeded: func() { exceeded++ }}
	var visit func(yamltree.Value)
	visit = func(v yamltree.Value) {
		lines = append(lines, fmt.Sprintf("%d:%d %s = %s", v.Line, v.Column, v.Path, v.Describe()))
		for _, item := range v.Items() {
			visit(item)
		}
		for _, e := range v.Entries() {
			if at := e.Value.AtKey(); !e.OK() {
				lines = append(lines, fmt.Sprintf("%d:%d %s: %d %s", at.Line, at.Column, at.Path, e.Twice, e.Wrong))
				continue
			}
			visit(e.Value)
		}
	}
	visit(walk.Top(root))
	return lines, exceeded
}

func TestValuesKnowWhereTheyStand(t *testing.T) {
	lines, exceeded := walked(t, `a: 1
list:
  - {b: x, c: }
  - - d
`, 100)
	assert.Equal(t, exceeded, 0)
	assert.DeepEqual(t, lines, []string{
		`1:1  = a mapping`, `1:4 a = "1"`, `3:3 list = a list`, `3:5 list[0] = a mapping`, `3:9 list[0].b = "x"`,
		`3:15 list[0].c = nothing`, `4:5 list[1] = a list`, `4:7 list[1][0] = "d"`,
	})
}

// TestAliasesAndMerges shows that an alias has the place of what it stands for, and
// that a key of a mapping itself goes before one that is merged.
func TestAliasesAndMerges(t *testing.T) {
	lines, _ := walked(t, `x: &x {a: 1, b: 2}
y: {<<: *x, b: 3}
z: *x
w: {<<: [*x, {c: 4}]}
`, 100)
	assert.DeepEqual(t, lines, []string{
		`1:1  = a mapping`, `1:4 x = a mapping`, `1:11 x.a = "1"`, `1:17 x.b = "2"`,
		`2:4 y = a mapping`, `2:16 y.b = "3"`, `1:11 y.a = "1"`,
		`1:4 z = a mapping`, `1:11 z.a = "1"`, `1:17 z.b = "2"`,
		`4:4 w = a mapping`, `1:11 w.a = "1"`, `1:17 w.b = "2"`, `4:18 w.c = "4"`,
	})
}

func TestKeysThatMakeNoSense(t *testing.T) {
	lines, _ := walked(t, `a: 1
[b]: 2
a: 3
<<: 5
`, 100)
	assert.DeepEqual(t, lines[2:], []string{
		`2:1 ?: 0 a key must be a plain text, not a list`, `3:1 a: 1 `, `4:1 <<: 0 merges "5", which is no mapping`,
	})
}

// merged is a text of so many mappings and one, each of which merges the one before it as
// a format says.
func merged(mappings int, merge string) string {
	text := "x0: &m0 {k0: 0}\n"
	for i := range mappings {
		text += fmt.Sprintf("x%d: &m%d {k%d: 0, <<: "+merge+"}\n", i+1, i+1, i+1, i)
	}
	return text
}

// TestMergesBeyondMergesMax merges ten times as many mappings into each other as allowed. Each
// has its own keys and those that the nearest have, and what is left out is told of each.
func TestMergesBeyondMergesMax(t *testing.T) {
	const most, chain = yamltree.MergesMax, 10 * yamltree.MergesMax
	lines, exceeded := walked(t, merged(chain, "*m%d"), 10_000)
	assert.Equal(t, exceeded, 0)
	keys, told := map[string]int{}, map[string]int{}
	for _, line := range lines {
		_, where, _ := strings.Cut(line, " ")
		if name, rest, found := strings.Cut(where, "."); found {
			if strings.HasPrefix(rest, "k") {
				keys[name]++
			} else {
				assert.Equal(t, rest, fmt.Sprintf("<<: 0 merges more than %d mappings into each other", most))
				told[name]++
			}
		}
	}
	for i := range chain + 1 {
		name := fmt.Sprint("x", i)
		assert.Equal(t, keys[name], min(i, most)+1, name)
		assert.Equal(t, told[name] == 1, i > most, name)
	}
}

// TestMergesAreVisited: where each mapping merges the one before it twice, the number of
// values bounds what is visited.
func TestMergesAreVisited(t *testing.T) {
	lines, exceeded := walked(t, merged(10*yamltree.MergesMax, "[*m%[4]d, *m%[4]d]"), 10_000)
	assert.Equal(t, exceeded, 1)
	assert.Assert(t, len(lines) <= 10_000, "%d", len(lines))
}

// TestMaxBoundsAliases visits no more values than allowed, whatever they stand for.
func TestMaxBoundsAliases(t *testing.T) {
	text := "a0: &a0 [1, 2]\n"
	for i := range 30 {
		text += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	lines, exceeded := walked(t, text, 1000)
	assert.Equal(t, exceeded, 1)
	assert.Assert(t, len(lines) <= 1001)
}

func TestFind(t *testing.T) {
	root, _, err := yamltree.Parse("a: 1\nb:\na: 2\nc: {d: 3}\n")
	assert.NilError(t, err)
	top := (&yamltree.Walk{Max: 100}).Top(root)
	a, ok := top.Find("a")
	assert.Assert(t, ok && a.Line == 1)
	for _, key := range []string{"b", "d", "none"} {
		_, ok = top.Find(key)
		assert.Assert(t, !ok, key)
	}
	c, _ := top.Find("c")
	d, ok := c.Rooted().Find("d")
	assert.Assert(t, ok)
	assert.Equal(t, d.Path, "d")
	assert.Equal(t, d.Below("e").Path, "d.e")
	_, ok = a.Find("a")
	assert.Assert(t, !ok)
}

func TestParse(t *testing.T) {
	root, second, err := yamltree.Parse("# nothing\n")
	assert.NilError(t, err)
	assert.Assert(t, root == nil && second == nil)
	root, second, err = yamltree.Parse("a: 1\n---\nb: 2\n")
	assert.NilError(t, err)
	assert.Equal(t, root.Line, 1)
	assert.Equal(t, second.Content[0].Line, 3)
	for text, line := range map[string]int{"a: [": 1, "a: 1\nb: 2\n c: 3\n": 3, "a: 1\n---\nb: [": 3} {
		_, _, err = yamltree.Parse(text)
		var syntax *yamltree.SyntaxError
		assert.Assert(t, errors.As(err, &syntax), text)
		assert.Equal(t, syntax.Line, line, "%s: %v", text, err)
		assert.Assert(t, !strings.Contains(err.Error(), "yaml:") && !strings.Contains(err.Error(), "line"), err)
	}
}

func TestClip(t *testing.T) {
	short := strings.Repeat("x", yamltree.QuotedMax)
	assert.Equal(t, yamltree.Clip(short), short)
	long := yamltree.Clip(strings.Repeat("x", yamltree.QuotedMax-1) + "éé")
	assert.Equal(t, long, strings.Repeat("x", yamltree.QuotedMax-1)+"…")
	assert.Assert(t, utf8.ValidString(long))
	assert.Equal(t, yamltree.Quote("a\n"), `"a\n"`)
}
