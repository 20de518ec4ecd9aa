package recording

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// Names are replaced word by word, the same everywhere. Well-known words stay, and so does what stands between words.
func TestNames(t *testing.T) {
	n := newNames()
	for _, text := range []string{"root.team-a.web", "web", "team-a", "Anna", "anna@example", "a_dot__dot_b", "14", "zebra", "größe"} {
		n.learn(text)
	}
	assert.NilError(t, n.give())
	var is []string
	for _, text := range []string{"root.team-a.web", "web", "[Anna]", "anna@example", "root.default", "a_dot__dot_b", "14", "zebra größe", ""} {
		is = append(is, n.of(text))
	}
	assert.DeepEqual(t, is, []string{"root.tb0-a00.v0", "v0", "[A00]", "am0@eo0", "root.default", "a00_dot__dot_aq0", "00", "z0 h0", ""})
}

// What stands for names is in their order, however they are made, and no two are the same.
func TestNamesAreInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "ab", "default", "defaults", "default0", "root", "Root", "all", "allow", "_", "_x", "0", "1", "12", "Z", "zz", "é", "-", ".", "/", " ", "\x00"}
	for range 300 {
		n := newNames()
		var texts []string
		for range 40 {
			text := ""
			for range 1 + random.IntN(6) {
				text += parts[random.IntN(len(parts))]
			}
			texts = append(texts, text)
			n.learn(text)
		}
		assert.NilError(t, n.give())
		slices.Sort(texts)
		texts = slices.Compact(texts)
		for i := 1; i < len(texts); i++ {
			assert.Assert(t, n.of(texts[i-1]) < n.of(texts[i]), "%q %q become %q %q", texts[i-1], texts[i], n.of(texts[i-1]), n.of(texts[i]))
		}
	}
}
