package configuration_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/configuration"
)

// What was loaded is written, loaded again, and is the same: every example, and every sample of package config that is right.
func TestWhatWasLoadedIsWritten(t *testing.T) {
	compared := 0
	for _, pattern := range []string{"../../config/testdata/*.yaml", "../../../docs/examples/*.yaml", "../../../docs/examples/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		assert.NilError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			assert.NilError(t, err)
			kinds := new(resources.Kinds)
			document, err := config.Load(string(text), kinds)
			if err != nil {
				continue
			}
			for _, c := range document.Partitions {
				compared++
				compare(t, file, c, kinds)
			}
		}
	}
	assert.Assert(t, compared > 25, "%d", compared)
}

func compare(t *testing.T, file string, c api.Config, kinds *resources.Kinds) {
	t.Helper()
	written, err := configuration.Of(&config.Document{Definitions: []config.Partition{config.Definition(c, kinds)}}, nil).YAML()
	assert.NilError(t, err)
	again, err := config.Load(string(written), kinds)
	assert.NilError(t, err, "%s:\n%s", file, written)
	is := again.Partitions[0]
	if len(c.Nodes.Weights) == 0 {
		is.Nodes.Weights = nil // what stands for nothing is written
	}
	assert.DeepEqual(t, is, c, cmp.FilterValues(func(a, b map[string]string) bool { return len(a)+len(b) == 0 }, cmp.Ignore()))
}
