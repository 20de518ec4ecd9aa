package tidy

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// filesOfWay is the most files of pkg/core, its backlog and its questions that decide on the way of an ask which is placed
// at once. The files of the data that it works on come on top.
const filesOfWay = 10

// TestWayOfAnAsk compares the files that the design names for the way of an ask with those of
// which a statement is run for one: what TestPlainAsk covers with the ask and not without
// it.
func TestWayOfAnAsk(t *testing.T) {
	design, err := os.ReadFile("../../../docs/design.md")
	assert.NilError(t, err)
	_, section, found := strings.Cut(string(design), "## How an ask becomes an allocation\n")
	assert.Assert(t, found)
	section, rest, found := strings.Cut(section, "\nThese are all files")
	assert.Assert(t, found, rest)
	rows := regexp.MustCompile("(?m)^\\| [0-9]+ \\| `[a-z]+\\.go` \\|").FindAllString(section, -1)
	assert.Assert(t, len(rows) > 0 && len(rows) <= filesOfWay, "%d files decide", len(rows))
	named := make(map[string]bool)
	for _, name := range regexp.MustCompile(`[a-z]+\.go`).FindAllString(section, -1) {
		named[name] = true
	}
	assert.DeepEqual(t, filesOfPlainAsk(t), slices.Sorted(maps.Keys(named)))
}

// filesOfPlainAsk are the files of pkg/core, its backlog and its questions of which more is run with the ask than without. They are
// compiled with coverage, in half the time without what makes them quick, and without their tests.
func filesOfPlainAsk(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "tidy.test")
	run := func(name string, args ...string) {
		command := exec.CommandContext(t.Context(), name, args...)
		output, err := command.CombinedOutput()
		assert.NilError(t, err, "%s", output)
	}
	const core = "github.com/narwhal-scheduler/narwhal/pkg/core"
	run("go", "test", "-c", "-vet=off", "-covermode=count", "-coverpkg="+core+","+core+"/backlog,"+core+"/question", "-gcflags="+core+"/...=-N -l", "-ldflags=-s -w", "-o", binary, ".")
	counts := func(test string) map[string]string {
		profile := filepath.Join(dir, test)
		run(binary, "-test.run=^TestPlainAsk$/^"+test+"$", "-test.coverprofile="+profile)
		text, err := os.ReadFile(profile)
		assert.NilError(t, err)
		blocks := make(map[string]string)
		for line := range strings.Lines(string(text)) {
			if at := strings.LastIndexByte(line, ' '); at > 0 {
				blocks[line[:at]] = line[at:]
			}
		}
		return blocks
	}
	before := counts("before")
	files := make(map[string]bool)
	for block, count := range counts("placed") {
		file, _, _ := strings.Cut(block, ":")
		if empty := strings.HasSuffix(block, " 0"); !empty && count != before[block] {
			files[path.Base(file)] = true
		}
	}
	return slices.Sorted(maps.Keys(files))
}
