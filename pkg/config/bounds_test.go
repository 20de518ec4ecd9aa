package config_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// Partitions are bounded: ten times as many as may be are refused at the first that is too many,
// and nothing is told of those after it.
func TestPartitionsAreBounded(t *testing.T) {
	text := func(count int) string {
		var b strings.Builder
		b.WriteString("partitions:\n")
		for i := range count {
			fmt.Fprintf(&b, "  - {name: p%d, queues: []}\n", i)
		}
		return b.String()
	}
	_, err := config.Load(text(config.PartitionsMax), nil)
	assert.NilError(t, err)
	for _, more := range []int{config.PartitionsMax + 1, 10 * config.PartitionsMax} {
		_, err = config.Load(text(more), nil)
		assert.ErrorContains(t, err, fmt.Sprintf("more than %d partitions", config.PartitionsMax))
		assert.Equal(t, strings.Count(err.Error(), "\n"), 1, err)
	}
	_, err = config.Load("partitions: [{name: a}, {name: b}, {name: A}]", nil)
	assert.ErrorContains(t, err, "a partition with this name is in line 1 already")
}
