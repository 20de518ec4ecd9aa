package yamltree

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestNearest(t *testing.T) {
	known := []string{"name", "queues", "resources", "properties", "max", "PodLifeTime"}
	for _, c := range []struct{ word, want string }{
		{"Queues", "queues"},
		{"queue", "queues"},
		{"propertys", "properties"},
		{" resources ", "resources"},
		{"resuorces", "resources"},
		{"min", ""},
		{"limits", ""},
		{"", ""},
		{"podlifetime", "PodLifeTime"},
	} {
		assert.Equal(t, Nearest(c.word, known), c.want, c.word)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "bc", 1},
		{"abc", "xabc", 1},
		{"kitten", "sitting", 3},
		{"flaw", "lawn", 2},
	} {
		assert.Equal(t, mistakes(c.a, c.b), c.want, "%s and %s", c.a, c.b)
	}
}
