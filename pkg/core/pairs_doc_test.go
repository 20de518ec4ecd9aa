package core_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario/scenariotest"
)

// Every scenario that the table of pairs names exists, and no cell is empty.
func TestPairsNameScenarios(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "pairs.md"))
	assert.NilError(t, err)
	_, table, found := strings.Cut(string(text), "|---|")
	assert.Assert(t, found)
	names := regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(table, -1)
	assert.Assert(t, len(names) > 60)
	for _, name := range names {
		scenariotest.Files(t, ".", name[1]+".txt")
	}
	for row := range strings.Lines(table) {
		assert.Assert(t, !strings.Contains(row, "| |"), row)
	}
}
