package outoftree

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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

// Nothing is asked about a pod for longer and longer, up to ten minutes, for which a plugin never answers.
func TestPausesGrowToTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		for range 10 {
			c.hang("web")
			c.back()
		}
		time.Sleep(10*time.Minute - 1)
		assert.Equal(t, c.mayAsk("web"), errLate)
		time.Sleep(time.Nanosecond)
		assert.NilError(t, c.mayAsk("web"))
	})
}
