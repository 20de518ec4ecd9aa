package preemption

import (
	"testing"

	"gotest.tools/v3/assert"
)

// An attempt for a group looks at 16,384 nodes at most, at twice as many after each that failed, and never at more than a million.
func TestAttemptsForGroupsAreBounded(t *testing.T) {
	for failed, most := range map[int]int{0: 16_384, 1: 32_768, 6: 1_048_576, 7: 1_048_576, 1000: 1_048_576} {
		assert.Equal(t, groupEvaluations(failed), most, "after %d", failed)
	}
}
