package scheduler

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestEmptied: a slice of moderate size is used again and keeps nothing alive, a large one
// is given up.
func TestEmptied(t *testing.T) {
	list := make([]*int, 3, 8192)
	list[1] = new(int)
	again := emptied(list)
	assert.Equal(t, len(again), 0)
	assert.Equal(t, cap(again), 8192)
	assert.Assert(t, again[:3][1] == nil)
	assert.Assert(t, emptied(make([]*int, 3, 8193)) == nil)
}
