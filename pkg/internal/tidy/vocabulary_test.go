package tidy

import (
	"maps"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestWordsCanFail puts a listed word into each kind of place.
func TestWordsCanFail(t *testing.T) {
	const at = "pkg/resources/a.go"
	file := func(text string) map[string]string { return map[string]string{at: "package resources\n\n" + text} }
	tests := []struct {
		name string
		bad  map[string]string
		want string
	}{
		{"person in a document", map[string]string{"docs/glossary.md": "A pod\nWho runs.\n"}, "docs/glossary.md:2: \"who\": things are which, that, it (words of the field)"},
		{"person in a scenario", map[string]string{"pkg/core/testdata/x.txt": "# Nobody waits.\n"}, "pkg/core/testdata/x.txt:1: \"nobody\": things are which, that, it (words of the field)"},
		{"person in a comment", file("// Pods\n// are for whoever asks.\nvar a int\n"), at + ":4: \"whoever\": things are which, that, it (words of the field)"},
		{"person in a long comment", file("/* Pods\nare for somebody. */\nvar a int\n"), at + ":4: \"somebody\": things are which, that, it (words of the field)"},
		{"person in a message", file("var a = \"nobody\"\n"), at + ":3: \"nobody\": things are which, that, it (words of the field)"},
		{"private word in a document", map[string]string{"docs/glossary.md": "The Verdict.\n"}, "docs/glossary.md:1: say summary, result for verdict (words of the field)"},
		{"private word in a name", file("var nextHunt int\n"), at + ":3: nextHunt: say preemption attempt for hunt (words of the field)"},
		{"private word in a name of capitals", file("func (x x) HTTPQuarry() {}\n"), at + ":3: HTTPQuarry: say node as input of the preemptor for quarry (words of the field)"},
		{"private name", file("var setAside int\n"), at + ":3: setAside: say unschedulable for aside (words of the field)"},
		{"identifier in a document", map[string]string{"docs/glossary.md": "See W-11.\n"}, "docs/glossary.md:1: W-11 means nothing to a reader (no internal identifiers)"},
		{"identifier in a comment", file("// As in S39.\nvar a int\n"), at + ":3: S39 means nothing to a reader (no internal identifiers)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := clean()
			maps.Copy(files, test.bad)
			assert.Equal(t, check(t, files), test.want)
		})
	}
}

// TestWordsAllowed is what the word lists leave alone: common words in texts, parts
// of longer words, and texts of tests.
func TestWordsAllowed(t *testing.T) {
	files := clean()
	maps.Copy(files, map[string]string{
		"docs/glossary.md":              "Set aside; a history; wholly; S3 and W3C.\n",
		"pkg/resources/a.go":            "package resources\n\n// The ground is a whole.\nvar wholeHistory int\n",
		"pkg/resources/a_test.go":       "package resources\n\nvar a = \"nobody\"\n",
		"pkg/scheduler/applications.go": "// Package scheduler is one.\npackage scheduler\n\nvar a = \"nobody\"\n",
		"pkg/resources/picture.go":      "package resources\n",
	})
	assert.Equal(t, check(t, files), "")
}

func TestPartsOf(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "nextHunt": "next hunt", "HTTPQuarry": "http quarry", "NodeID": "node id", "IDs": "i ds", "x1Y": "x1 y",
	} {
		assert.Equal(t, strings.Join(partsOf(name), " "), want, name)
	}
}
