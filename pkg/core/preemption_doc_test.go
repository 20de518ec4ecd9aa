package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// preemptionStories are the prefixes of the stories that the documents about
// preemption list.
var preemptionStories = []string{"preempt_", "priority_", "guarantee_", "quota_preempt_"}

// TestPreemptionDocument compares the documents about preemption with what they are
// about. The stories in them are those that run as tests, to the letter, and all
// others are linked; every class, filter, strategy and reason is in them by its
// name.
func TestPreemptionDocument(t *testing.T) {
	text := preemptionDocuments(t)
	assert.Assert(t, strings.Count(text, embeds) >= 20)
	for _, prefix := range preemptionStories {
		stories, err := filepath.Glob("testdata/scenarios/" + prefix + "*.txt")
		assert.NilError(t, err)
		assert.Assert(t, len(stories) > 0, prefix)
		for _, story := range stories {
			assert.Assert(t, strings.Contains(text, "](../pkg/core/"+story+")"), "no document knows %s", story)
		}
	}
	inTable := func(name fmt.Stringer) {
		assert.Assert(t, strings.Contains(text, "\n| "+name.String()+" |"), "no document knows %q", name)
	}
	for class := range preemptor.Class(preemptor.Classes) {
		inTable(class)
	}
	for filter := range preemptor.Filter(preemptor.Filters) {
		inTable(filter)
	}
	for reason := preemptor.RoomIsThere; reason <= preemptor.NotEnough; reason++ {
		inTable(reason)
	}
	for trigger := range preemptor.Trigger(preemptor.Triggers) {
		inTable(trigger)
	}
	for _, strategy := range preemptor.DefaultConfig().Strategies {
		assert.Assert(t, strings.Contains(text, "**`"+strategy.String()+"`**"), "no document knows %s", strategy)
	}
}

// embeds opens a story in a document; its file follows.
const embeds = "```story "

// preemptionDocuments are docs/preemption.md and a page for each trigger, with the
// stories in them compared. With -update they are written as their files are then:
// a second run finds them as the first has left them.
func preemptionDocuments(t *testing.T) string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/preemption*.md")
	assert.NilError(t, err)
	assert.Equal(t, len(pages), 1+preemptor.Triggers)
	var text strings.Builder
	for _, page := range pages {
		document, err := os.ReadFile(page)
		assert.NilError(t, err)
		fresh := withStories(t, string(document))
		if golden.FlagUpdate() {
			assert.NilError(t, os.WriteFile(page, []byte(fresh), 0o644))
		} else {
			assert.Equal(t, string(document), fresh, page)
		}
		text.WriteString(fresh)
	}
	return text.String()
}

// withStories is a document with every story in it as it stands in its file.
func withStories(t *testing.T, document string) string {
	t.Helper()
	var fresh strings.Builder
	for {
		before, after, found := strings.Cut(document, embeds)
		fresh.WriteString(before)
		if !found {
			return fresh.String()
		}
		name, after, _ := strings.Cut(after, "\n")
		_, after, closed := strings.Cut(after, "```\n")
		assert.Assert(t, closed, name)
		story, err := os.ReadFile(filepath.Join("testdata/scenarios", name))
		assert.NilError(t, err)
		fresh.WriteString(embeds + name + "\n" + string(story) + "```\n")
		document = after
	}
}
