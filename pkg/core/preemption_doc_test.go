package core_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario/scenariotest"
)

// The page about preemption, the reference of it, and the page with its settings.
const (
	preemptionPage      = "../../docs/preemption.md"
	preemptionReference = "../../docs/preemption-reference.md"
	preemptionSettings  = "../../docs/configuration.md"
)

// TestPreemptionDocument compares the pages about preemption with the code: every
// class, filter, result, trigger and strategy is in one of them by its name, and the scenario
// that is shown is the one that runs as a test. With -update the scenario is written
// again.
func TestPreemptionDocument(t *testing.T) {
	content, err := os.ReadFile(preemptionPage)
	assert.NilError(t, err)
	text := withScenarios(t, string(content))
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(preemptionPage, []byte(text), 0o644))
	} else {
		assert.Equal(t, string(content), text)
	}
	reference, err := os.ReadFile(preemptionReference)
	assert.NilError(t, err)
	text += string(reference)
	inTable := func(name fmt.Stringer) {
		assert.Assert(t, strings.Contains(text, "\n| "+name.String()+" |"), "the page does not know %q", name)
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
		assert.Assert(t, strings.Contains(text, "**`"+strategy.String()+"`**"), "the page does not know %s", strategy)
	}
}

// TestPreemptionDocumentFindsScenarios looks for the patterns of file names on the
// page: each names files, and no scenario of preemption is left out.
func TestPreemptionDocumentFindsScenarios(t *testing.T) {
	content, err := os.ReadFile(preemptionReference)
	assert.NilError(t, err)
	found := 0
	for _, row := range strings.Split(string(content), "\n| `")[1:] {
		pattern, _, _ := strings.Cut(row, "`")
		if !strings.HasSuffix(pattern, ".txt") {
			continue
		}
		scenariotest.Files(t, ".", pattern)
		found++
	}
	assert.Equal(t, found, preemptor.Triggers, "patterns of file names")
}

// TestPreemptionDefaultsInDocument compares the defaults on the page with those of
// the code.
func TestPreemptionDefaultsInDocument(t *testing.T) {
	content, err := os.ReadFile(preemptionSettings)
	assert.NilError(t, err)
	defaults := preemptor.DefaultConfig()
	var names []string
	for _, strategy := range defaults.Strategies {
		names = append(names, strategy.String())
	}
	for key, value := range map[string]string{
		"preemption_start_delay":                    defaults.StartDelay.String(),
		"preemption_victim_pods_selection_strategy": strings.Join(names, ","),
		"preemption_victim_deviation":               fmt.Sprint(defaults.DeviationMax),
		"preemption_victims_max":                    fmt.Sprint(defaults.VictimsMax),
	} {
		assert.Assert(t, strings.Contains(string(content), "\n| `"+key+"` | `"+value+"` |"), "%s has the default %s", key, value)
	}
	assert.Equal(t, reflect.TypeFor[preemptor.Config]().NumField(), 10, "a new setting belongs on the page, and into this test")
}

// embeds opens a scenario in a document; the name of its file follows.
const embeds = "```scenario "

// withScenarios is a document with every scenario in it as it is in its file.
func withScenarios(t *testing.T, document string) string {
	t.Helper()
	var fresh strings.Builder
	for count := 0; ; count++ {
		before, after, found := strings.Cut(document, embeds)
		fresh.WriteString(before)
		if !found {
			assert.Assert(t, count > 0, "the page shows no scenario")
			return fresh.String()
		}
		name, after, _ := strings.Cut(after, "\n")
		_, after, closed := strings.Cut("\n"+after, "\n```\n")
		assert.Assert(t, closed, name)
		text, err := os.ReadFile(scenariotest.Files(t, ".", name)[0])
		assert.NilError(t, err)
		fresh.WriteString(embeds + name + "\n" + string(text) + "```\n")
		document = after
	}
}
