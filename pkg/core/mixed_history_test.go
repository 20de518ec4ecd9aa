package core_test

import (
	"testing"

	"gotest.tools/v3/assert"
)

// newMixedHistory is a random history with gangs, with rules of placement, with both or with none.
func newMixedHistory(c chance, mix byte) *history {
	begin := newHistory
	if mix&1 > 0 {
		begin = newPlacedHistory
	}
	h := begin(c)
	h.gangs = mix&2 > 0
	return h
}

func FuzzHistory(f *testing.F) {
	for mix := range byte(4) {
		f.Add([]byte("a node, an application, asks, and what may become of them"), mix)
	}
	f.Fuzz(func(t *testing.T, data []byte, mix byte) {
		if len(data) > 4096 {
			return
		}
		c := &bytesChance{data}
		h := newMixedHistory(c, mix)
		for len(c.data) > 0 {
			done := h.step()
			assert.NilError(t, h.broken)
			assert.NilError(t, h.p.Verify(), "%T%+v", done, done)
		}
		h.settle(t)
	})
}
