package shim

import (
	"testing"

	"gotest.tools/v3/assert"
)

// Urgent keys come first, also those that become urgent while they wait; each is given out once.
func TestUrgentFirst(t *testing.T) {
	urgent := map[string]bool{"u": true}
	q := &urgentFirst{is: func(key string) bool { return urgent[key] }, waiting: map[string]bool{}}
	q.Push("a")
	q.Push("b")
	q.Push("u")
	urgent["b"] = true
	q.Touch("b")
	q.Touch("b")
	assert.Equal(t, q.Len(), 3)
	assert.Equal(t, q.Pop()+q.Pop(), "ub")
	urgent["b"] = false
	q.Push("b") // it stands in the line twice
	assert.Equal(t, q.Len(), 2)
	assert.Equal(t, q.Pop()+q.Pop(), "ab")
	assert.Equal(t, q.Len(), 0)
}
