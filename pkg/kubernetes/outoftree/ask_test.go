package outoftree

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/types"
)

// A plugin that hangs for one pod after the other is not remembered for all of them.
func TestPausesAreBounded(t *testing.T) {
	var c calls
	for i := range 20_000 {
		c.hang(types.UID(fmt.Sprint(i)))
		c.back()
		assert.Assert(t, len(c.pauses) <= 1024)
	}
	assert.Equal(t, c.mayAsk("19999"), errLate)
}
