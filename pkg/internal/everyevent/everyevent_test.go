package everyevent_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/everyevent"
)

// TestEventsAreComplete compares the events with the types that the core declares.
func TestEventsAreComplete(t *testing.T) {
	source, err := os.ReadFile("../../core/api/event.go")
	assert.NilError(t, err)
	var declared, had []string
	for _, found := range regexp.MustCompile(`(?m)^func \((\*?)(\w+)\) event\(\)`).FindAllStringSubmatch(string(source), -1) {
		if found[2] != "Remark" {
			declared = append(declared, found[1]+"api."+found[2])
		}
	}
	declared = append(declared, "*outcomes.VictimsWasted", "*reports.AskWaits")
	for _, event := range everyevent.Events() {
		had = append(had, fmt.Sprintf("%T", event))
	}
	slices.Sort(declared)
	slices.Sort(had)
	assert.DeepEqual(t, had, declared)
}
