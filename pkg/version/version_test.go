package version_test

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

// The first release of the list of changes is the one that programs print.
func TestChangelog(t *testing.T) {
	page, err := os.ReadFile("../../CHANGELOG.md")
	assert.NilError(t, err)
	release := regexp.MustCompile(`(?m)^## (v\S+)`).FindStringSubmatch(string(page))
	assert.Assert(t, len(release) == 2)
	assert.Equal(t, release[1], version.Version)
}

func TestText(t *testing.T) {
	assert.Assert(t, strings.HasPrefix(version.Text(), version.Version+" "))
	assert.Assert(t, strings.HasSuffix(version.Text(), runtime.Version()))
}
