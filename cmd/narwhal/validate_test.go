package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// TestCommand runs whole command lines. A golden file has the exit code, then
// what goes to the standard output and to the standard error.
func TestCommand(t *testing.T) {
	for _, c := range []struct {
		name, line, in string
	}{
		{"validate-good", "validate testdata/good.yaml", ""},
		{"validate-warnings", "validate testdata/warnings.yaml", ""},
		{"validate-queues", "validate testdata/queues.yaml", ""},
		{"validate-stdin", "validate -", "partitions:\n  - queues: [{name: a.b}]\n"},
		{"validate-empty", "validate -", ""},
		{"validate-nothing", "validate -", "# later\n"},
		{"validate-missing", "validate testdata/missing.yaml", ""},
		{"validate-directory", "validate testdata", ""},
		{"validate-no-file", "validate", ""},
		{"validate-two-files", "validate a b", ""},
		{"validate-flag", "validate --stricter a", ""},
		{"validate-json", "validate --output json testdata/warnings.yaml", ""},
		{"validate-json-queues", "validate -o json testdata/queues.yaml", ""},
		{"validate-json-against", "validate -o json testdata/new.yaml --against testdata/old.yaml", ""},
		{"validate-output", "validate --output xml a", ""},
		{"validate-strict", "validate --strict testdata/good.yaml", ""},
		{"validate-strict-closed", "validate --strict testdata/closed.yaml", ""},
		{"validate-broken", "validate testdata/broken.txt", ""},
		{"validate-help", "validate --help", ""},
		{"unknown-command", "valdate a", ""},
	} {
		t.Run(c.name, func(t *testing.T) { playLine(t, c.name, c.line, c.in) })
	}
}

// playLine runs a command line and compares what comes of it with the golden file
// of the name.
func playLine(t *testing.T, name, line, in string) {
	t.Helper()
	var out, problems bytes.Buffer
	code := run(strings.Fields(line), strings.NewReader(in), &out, &problems)
	golden.Assert(t, fmt.Sprintf("exit %d\n-- out\n%s-- err\n%s", code, out.String(), problems.String()), name+".golden")
}

func TestVersionAndHelp(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"--version", "narwhal v0.1.0"},
		{"--help", "validate    Check a configuration of partitions and queues"},
		{"", "Available Commands:"},
	} {
		var out, problems bytes.Buffer
		assert.Equal(t, run(strings.Fields(c.line), nil, &out, &problems), exitDone)
		assert.Assert(t, strings.Contains(out.String(), c.want), "%q: %s", c.line, out.String())
		assert.Equal(t, problems.String(), "")
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("the pipe broke") }

func TestUnreadableInput(t *testing.T) {
	var out, problems bytes.Buffer
	assert.Equal(t, run([]string{"validate", "-"}, broken{}, &out, &problems), exitUsage)
	assert.Equal(t, problems.String(), "narwhal: stdin: the pipe broke\n")
}

// The documentation shows what the command really prints.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	assert.NilError(t, err)
	for _, file := range []string{"queues.yaml", "good.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(page), "```yaml\n"+string(text)+"```\n"), "%s is not in the documentation", file)
		var out bytes.Buffer
		found, err := check("queues.yaml", string(text), false)
		assert.NilError(t, err)
		_ = found.print(&out, &out)
		assert.Assert(t, strings.Contains(string(page), "```text\n"+out.String()+"```\n"), "the documentation lacks\n%s", out.String())
	}
}

// TestStrictly makes errors of warnings about keys that keep users from something, and leaves
// other warnings.
func TestStrictly(t *testing.T) {
	warn := func(key string) config.Problem {
		return config.Problem{Place: config.Place{Key: key}, Severity: config.Warning}
	}
	for key, want := range map[string]int{"limits": 1, "adminacl": 1, "template.maxapplications": 1, "properties.any": 0, "": 0} {
		assert.Equal(t, strictly(config.Problems{warn(key)}).Errors(), want, key)
	}
}
