package simulator

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// outstanding is what stands out of a scenario, and its result.
func outstanding(t *testing.T, text string) (string, *Result) {
	t.Helper()
	s, err := Parse(text)
	assert.NilError(t, err)
	r, err := Run(s, Options{})
	assert.NilError(t, err)
	return strings.Join(r.StandsOut(), "\n"), r
}

// TestStandsOut: a queue that starves beside idle devices, which another queue floods; and a calm night.
func TestStandsOut(t *testing.T) {
	for _, name := range []string{"starving", "evicting", "calm"} {
		text, err := os.ReadFile("testdata/standsout/" + name + ".yaml")
		assert.NilError(t, err)
		got, _ := outstanding(t, string(text))
		_, want, _ := strings.Cut(string(text), "# What stands out:\n")
		assert.Equal(t, got, strings.TrimSpace(strings.ReplaceAll(want, "# ", "")), name)
	}
}

// TestStandsOutIsTrue: what is said of the examples are three to seven sentences that end, no number is of anything that
// the result does not have, and nothing is said twice.
func TestStandsOutIsTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, name := range Examples() {
		text, err := ExampleText(name)
		assert.NilError(t, err)
		said, r := outstanding(t, text)
		sentences := strings.Split(said, "\n")
		assert.Assert(t, len(sentences) >= 3 && len(sentences) <= sentencesMax, "%s: %s", name, said)
		for _, sentence := range sentences {
			assert.Assert(t, strings.HasSuffix(sentence, "."), sentence)
			assert.Equal(t, strings.Count(said, sentence), 1)
		}
		for begin, n := range map[string]int{` still waits? at the end`: r.Pods.Pending, ` (?:was|were) told to end`: victimsOf(r)} {
			found := regexp.MustCompile(`([0-9,]+) pods?` + begin).FindStringSubmatch(said)
			assert.Equal(t, found != nil, n > 0, "%s: %s", name, said)
			if found != nil {
				assert.Equal(t, found[1], Thousands(int64(n)))
			}
		}
	}
}

func victimsOf(r *Result) int {
	if r.Preemption == nil {
		return 0
	}
	return r.Preemption.Victims
}

// TestStandsOutOfNothing: a run without anything has three sentences too.
func TestStandsOutOfNothing(t *testing.T) {
	assert.DeepEqual(t, new(Result).StandsOut(), []string{"No pod waits at the end.", "No pod was preempted.", "0 pods came within 0s."})
}
