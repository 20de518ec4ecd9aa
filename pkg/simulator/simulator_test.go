package simulator_test

import (
	"os"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

func example(t *testing.T, name string) *simulator.Scenario {
	t.Helper()
	text, err := simulator.ExampleText(name)
	assert.NilError(t, err)
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	return s
}

func TestTmp(t *testing.T) {
	r, err := simulator.Run(example(t, "small"), simulator.Options{Verify: true})
	assert.NilError(t, err)
	_ = r.WriteText(os.Stdout)
	r.Series = simulator.Series{}
}
