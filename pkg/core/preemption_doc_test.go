package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// TestPreemptionDocument compares docs/preemption.md with what it is about. The
// stories in it are those that run as tests, to the letter, and all others are
// linked; every class, filter, strategy and reason is in it by its name.
func TestPreemptionDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/preemption.md")
	assert.NilError(t, err)
	text := string(document)
	const opening = "```story "
	embedded := 0
	for rest := text; ; embedded++ {
		_, after, found := strings.Cut(rest, opening)
		if !found {
			break
		}
		name, after, _ := strings.Cut(after, "\n")
		story, after, closed := strings.Cut(after, "```\n")
		assert.Assert(t, closed, name)
		file, err := os.ReadFile(filepath.Join("testdata/scenarios", name))
		assert.NilError(t, err)
		assert.Equal(t, story, string(file), name)
		rest = after
	}
	assert.Assert(t, embedded >= 3)

	stories, err := filepath.Glob("testdata/scenarios/preempt_*.txt")
	assert.NilError(t, err)
	for _, story := range stories {
		assert.Assert(t, strings.Contains(text, "](../pkg/core/"+story+")"), "docs/preemption.md does not know %s", story)
	}
	inTable := func(name fmt.Stringer) {
		assert.Assert(t, strings.Contains(text, "\n| "+name.String()+" |"), "docs/preemption.md does not know %q", name)
	}
	for class := range preemptor.Class(preemptor.Classes) {
		inTable(class)
	}
	for filter := range preemptor.Filter(preemptor.Filters) {
		inTable(filter)
	}
	for reason := preemptor.WaitsForLeaving; reason <= preemptor.Chosen; reason++ {
		inTable(reason)
	}
	for _, strategy := range preemptor.DefaultConfig().Strategies {
		assert.Assert(t, strings.Contains(text, "**`"+strategy.String()+"`**"), "docs/preemption.md does not know %s", strategy)
	}
}
