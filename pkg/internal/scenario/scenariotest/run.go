// Package scenariotest plays scenarios as tests.
package scenariotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
)

// Run plays every scenario of a directory as a sub-test named after its file, and
// compares what comes out with what is written; with -update it writes it.
func Run(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	assert.NilError(t, err)
	if len(files) == 0 {
		t.Fatalf("no scenario in %s", dir)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			runFile(t, file)
		})
	}
}

// Files are the scenarios of the package core, which stands in a directory, and of the packages below it, whose file
// names match a pattern. A test fails that finds none.
func Files(t *testing.T, core, pattern string) (files []string) {
	t.Helper()
	for _, dir := range []string{core, filepath.Join(core, "*")} {
		found, err := filepath.Glob(filepath.Join(dir, "testdata", "scenarios", pattern))
		assert.NilError(t, err)
		files = append(files, found...)
	}
	assert.Assert(t, len(files) > 0, "no scenario is called %s", pattern)
	return files
}

func runFile(t *testing.T, file string) {
	t.Helper()
	written, err := os.ReadFile(file)
	assert.NilError(t, err)
	came, err := scenario.Play(string(written))
	if err != nil {
		t.Fatalf("%s: %v\nso far:\n%s", file, err, came)
	}
	again, err := scenario.Play(string(written))
	assert.NilError(t, err)
	assert.Equal(t, again, came, "the same commands came out differently")
	absolute, err := filepath.Abs(file)
	assert.NilError(t, err)
	golden.Assert(t, came, absolute)
}
