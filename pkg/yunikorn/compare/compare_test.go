package compare_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// address is where both serve REST.
const address = "127.0.0.1:9080"

// The program does the same on both, but for what is written down. It takes a minute, as yunikorn-core waits for real.
func TestBothBuildsDoTheSame(t *testing.T) {
	if os.Getenv("COMPARE") == "" {
		t.Skip("make compare-yunikorn plays it")
	}
	listener, err := net.Listen("tcp", address)
	assert.NilError(t, err, "both serve REST at this address")
	assert.NilError(t, listener.Close())
	theirs, ours := play(t, "go.mod"), play(t, "dropin.mod")
	var found []string
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		found = append(found, differences(name, theirs[name], ours[name])...)
	}
	want, err := os.ReadFile("testdata/differences.txt")
	assert.NilError(t, err)
	var written []string
	for line := range strings.Lines(string(want)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			written = append(written, line)
		}
	}
	assert.Equal(t, strings.Join(found, "\n"), strings.Join(written, "\n"))
}

// Each difference is explained by a row of the document.
func TestDifferencesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("testdata/differences.txt")
	assert.NilError(t, err)
	document, err := os.ReadFile("../../../docs/yunikorn.md")
	assert.NilError(t, err)
	row, scenarios := "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if named, ok := strings.CutPrefix(line, "# row: "); ok {
			row = named
			assert.Assert(t, strings.Contains(string(document), "\n| "+row+" | "), "docs/yunikorn.md has no row %q", row)
		}
		if strings.HasPrefix(line, "scenario ") {
			scenarios++
			assert.Assert(t, row != "", "%s has no row", line)
			row = ""
		}
	}
	assert.Assert(t, scenarios > 0)
}

// The modules differ in what stands in for yunikorn-core, and in nothing else.
func TestModulesAreTheSame(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		before, _, _ := strings.Cut(string(text), "\nreplace (")
		return strings.Join(regexp.MustCompile(`(?m)^\t.*$|^require.*$|^go .*$`).FindAllString(before, 4), "\n")
	}
	assert.Equal(t, read("go.mod"), read("dropin.mod"))
}

// play builds the program with a module file, runs it, and returns what it wrote, by scenario.
func play(t *testing.T, module string) map[string][]string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	build, err := exec.Command("go", "build", "-modfile="+module, "-o", program, "./program").CombinedOutput()
	assert.NilError(t, err, "%s", build)
	out, err := exec.Command(program).Output()
	assert.NilError(t, err)
	var lines map[string][]string
	assert.NilError(t, json.Unmarshal(out, &lines))
	return lines
}

// differences are the steps of a scenario after which not the same was heard, with what one of both has.
func differences(scenario string, theirs, ours []string) []string {
	a, b := steps(theirs), steps(ours)
	var out []string
	for i := range max(len(a), len(b)) {
		var left, right []string
		if i < len(a) {
			left = a[i]
		}
		if i < len(b) {
			right = b[i]
		}
		if slices.Equal(left, right) {
			continue
		}
		out = append(out, fmt.Sprintf("scenario %s, %s", scenario, append(slices.Clone(left), right...)[0]))
		for _, line := range left {
			if !slices.Contains(right, line) {
				out = append(out, "  yunikorn: "+strings.TrimSpace(line))
			}
		}
		for _, line := range right {
			if !slices.Contains(left, line) {
				out = append(out, "  narwhal:  "+strings.TrimSpace(line))
			}
		}
	}
	return out
}

// steps are the lines of a scenario, by step.
func steps(lines []string) [][]string {
	var out [][]string
	for _, line := range lines {
		if !strings.HasPrefix(line, " ") {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], line)
	}
	return out
}
