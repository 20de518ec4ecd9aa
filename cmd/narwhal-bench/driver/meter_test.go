package driver

import (
	"runtime"
	"testing"

	"gotest.tools/v3/assert"
)

// A measurement begins when the garbage of what came before is collected: memory that nothing
// holds is gone from the heap.
func TestBeginCollectsGarbage(t *testing.T) {
	const size = 64 << 20
	garbage := make([]byte, size)
	var held, left runtime.MemStats
	runtime.ReadMemStats(&held)
	runtime.KeepAlive(garbage)
	Begin()
	runtime.ReadMemStats(&left)
	assert.Assert(t, left.HeapAlloc < held.HeapAlloc-size/2, "%d of %d", left.HeapAlloc, held.HeapAlloc)
}

// What is expected in the log is remembered without memory, after what is there.
func TestExpectEntries(t *testing.T) {
	const expected = 1000
	d := New(nil)
	d.remember(asked, "first", "")
	d.ExpectEntries(expected)
	n := 0
	allocated := testing.AllocsPerRun(expected-1, func() { // and once before it counts
		d.remember(placed, "pod", "node")
		n++
	})
	assert.Equal(t, allocated, 0.0)
	assert.Equal(t, n, expected)
	assert.Equal(t, len(d.log), expected+1)
	assert.Equal(t, d.log[0], entry{asked, "first", ""})
	assert.Equal(t, cap(d.log), len(d.log))
}
