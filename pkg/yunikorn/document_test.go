package yunikorn_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestLinesToCopy: the document has a line for this module and for each that this one replaces,
// as Go ignores the lines of a module that is itself replaced.
func TestLinesToCopy(t *testing.T) {
	document, err := os.ReadFile("../../docs/yunikorn.md")
	assert.NilError(t, err)
	module, err := os.ReadFile("go.mod")
	assert.NilError(t, err)
	replaced := regexp.MustCompile(`(?m)^\t(\S+) => (\.\S+)$`).FindAllStringSubmatch(string(module), -1)
	assert.Equal(t, len(replaced), strings.Count(string(module), "=>")) // each is in the one block
	want := "replace (\n\tgithub.com/apache/yunikorn-core => ../narwhal/pkg/yunikorn\n"
	for _, line := range replaced {
		want += "\t" + line[1] + " => " + path.Join("../narwhal/pkg/yunikorn", line[2]) + "\n"
	}
	assert.Assert(t, strings.Contains(string(document), "```\n"+want+")\n```"), want)
}
