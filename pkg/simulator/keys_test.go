package simulator_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// TestExampleWithEveryKey plays the example that explains the keys, and looks for each key of the parser in it.
func TestExampleWithEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../docs/examples/simulator/keys.yaml")
	assert.NilError(t, err)
	s, err := simulator.Parse(string(text))
	assert.NilError(t, err)
	_, err = simulator.Run(s, simulator.Options{Verify: true})
	assert.NilError(t, err)
	sources, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	keys := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		assert.NilError(t, err)
		for _, key := range regexp.MustCompile(`"([a-z-]+)": +(?:p\.|func|way|text|texts|whole|scalar)`).FindAllStringSubmatch(string(source), -1) {
			keys++
			assert.Check(t, regexp.MustCompile(`(?m)(^|[ {])`+key[1]+`: `).Match(text) || regexp.MustCompile(`(?m)^`+key[1]+`:`).Match(text), key[1])
		}
	}
	assert.Assert(t, keys > 70, "%d", keys)
}
