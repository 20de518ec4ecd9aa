package tidy

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

// filesOfWay is the most files of packages core, backlog and question that decide on the way of an ask which is placed
// at once. The files of the data that it works on come on top.
const filesOfWay = 10

// TestTours compares what the documents say of the ways of three asks with the functions of the core that are
// entered for them: the design names the files for a plain one, and the page about changes the packages for each.
func TestTours(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	tours := playTours(t)
	t.Run("files", func(t *testing.T) {
		named, rows := namedInDesign(t)
		assert.Assert(t, rows > 0 && rows <= filesOfWay, "%d files decide", rows)
		files := make(map[string]bool)
		for _, s := range tours["plain"] {
			if dir := path.Dir(s.file); dir == "." || dir == "backlog" || dir == "question" {
				files[path.Base(s.file)] = true
			}
		}
		assert.DeepEqual(t, slices.Sorted(maps.Keys(files)), named)
	})
	t.Run("packages", func(t *testing.T) {
		page, err := os.ReadFile("../../../docs/changing-the-core.md")
		assert.NilError(t, err)
		for name, steps := range tours {
			row := fmt.Sprintf("| %s | %s |", name, strings.Join(packagesOf(steps), ", "))
			assert.Check(t, strings.Contains(string(page), row), "the page about changes has no row\n%s", row)
		}
	})
	// A package calls those above it in the order of the core. Nothing comes back, but from the tools.
	t.Run("calls", func(t *testing.T) {
		for name, steps := range tours {
			for _, s := range steps {
				from, to := path.Join(core, s.from), path.Join(core, path.Dir(s.file))
				if s.from == "" || slices.Contains(tools, s.from) {
					continue
				}
				assert.Assert(t, slices.Index(packagesOfCore, from) >= slices.Index(packagesOfCore, to), "%s: %s calls %s", name, from, s.file)
			}
		}
	})
}

// namedInDesign are the files that the design names for the way of an ask, and how many of them decide.
func namedInDesign(t *testing.T) (names []string, rows int) {
	t.Helper()
	design, err := os.ReadFile("../../../docs/design.md")
	assert.NilError(t, err)
	_, section, found := strings.Cut(string(design), "## How an ask becomes an allocation\n")
	assert.Assert(t, found)
	section, _, found = strings.Cut(section, "\nThese are all files")
	assert.Assert(t, found)
	rows = len(regexp.MustCompile("(?m)^\\| [0-9]+ \\| `[a-z]+\\.go` \\|").FindAllString(section, -1))
	set := make(map[string]bool)
	for _, name := range regexp.MustCompile(`[a-z]+\.go`).FindAllString(section, -1) {
		set[name] = true
	}
	return slices.Sorted(maps.Keys(set)), rows
}

// A step is a function that was entered, by its file and the package that called it.
type step struct{ file, from string }

// tools of the core are packages that know nothing of asks. They call what compares, sums up and lists what others keep
// in them.
var tools = []string{"api", "guard", "laws", "order", "tables", "timers"}

// packagesOf are the packages of some steps, in the order in which they were entered first.
func packagesOf(steps []step) (list []string) {
	for _, s := range steps {
		dir := path.Dir(s.file)
		if dir == "." {
			dir = "core"
		}
		if !slices.Contains(list, dir) && !slices.Contains(tools, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// playTours plays the tours of asks_test.go in a copy of the core of which every function says that it is entered.
func playTours(t *testing.T) map[string][]step {
	t.Helper()
	dir := t.TempDir()
	overlay, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tidy.test")
	text, err := json.Marshal(map[string]any{"Replace": withSteps(t, dir)})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(overlay, text, 0o600))
	run := func(name string, args ...string) []byte {
		output, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		assert.NilError(t, err, "%s", output)
		return output
	}
	run("go", "test", "-c", "-vet=off", "-overlay="+overlay, "-gcflags="+module+core+"/...=-dwarf=false -N -l", "-ldflags=-s -w", "-o", binary, ".")
	tours := make(map[string][]step)
	for _, line := range regexp.MustCompile(`(?m)^tour (\S+) (\S+) ?(\S*)$`).FindAllSubmatch(run(binary, "-test.run=^TestPlainAsk$|^TestAskWithVictims$|^TestGang$"), -1) {
		name := string(line[1])
		tours[name] = append(tours[name], step{string(line[2]), string(line[3])})
	}
	assert.Equal(t, len(tours), 3)
	return tours
}

// withSteps writes the files of the core anew, with a first statement in each function that notes it, and returns
// which take the places of which.
func withSteps(t *testing.T, dir string) map[string]string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	assert.NilError(t, err)
	replace := make(map[string]string)
	for _, of := range packagesOfCore {
		if of == "pkg/core/worlds" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, of, "*.go"))
		assert.NilError(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			short := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(filepath.Join(root, core))), "/")
			copied := filepath.Join(dir, strings.ReplaceAll(short, "/", "-"))
			assert.NilError(t, os.WriteFile(copied, withStep(t, name, short), 0o600))
			replace[name] = copied
		}
	}
	return replace
}

// withStep is the text of a file with the statements, on the lines of what they come before.
func withStep(t *testing.T, name, short string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	assert.NilError(t, err)
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, text, 0)
	assert.NilError(t, err)
	at := make(map[int]string)
	for _, declaration := range syntax.Decls {
		if f, is := declaration.(*ast.FuncDecl); is && f.Body != nil {
			at[files.Position(f.Body.Lbrace).Offset+1] = fmt.Sprintf("tour.Enter(%q);", short)
		}
	}
	if len(at) == 0 {
		return text
	}
	at[files.Position(syntax.Name.End()).Offset] = fmt.Sprintf("; import tour %q", module+"pkg/internal/tidy/tour")
	for _, offset := range slices.Backward(slices.Sorted(maps.Keys(at))) {
		text = slices.Insert(text, offset, []byte(at[offset])...)
	}
	return text
}
