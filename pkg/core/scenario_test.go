package core_test

import (
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
)

// TestScenarios runs the scenarios of testdata/scenarios. They are the first
// thing to read about what a partition does; docs/scenarios.md says how to
// write one. Packages question, preemption and group have more, of what they own.
func TestScenarios(t *testing.T) { scenario.Run(t, "testdata/scenarios") }

// scenarioFiles are the files of scenarios, here and in the packages below, whose names match a pattern.
func scenarioFiles(t *testing.T, pattern string) (files []string) {
	t.Helper()
	for _, dir := range []string{".", "*"} {
		found, err := filepath.Glob(filepath.Join(dir, "testdata", "scenarios", pattern))
		assert.NilError(t, err)
		files = append(files, found...)
	}
	assert.Assert(t, len(files) > 0, "no scenario is called %s", pattern)
	return files
}
