package scheduler

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestReadersShareAView has two readers on a busy partition. They wait while it is
// too soon for a view, and then get the same one.
func TestReadersShareAView(t *testing.T) {
	p := core.NewPartition(core.Options{Kinds: new(resources.Kinds)}, core.Config{Name: "default", Root: core.QueueConfig{Name: "root"}})
	busy, idle := func() bool { return true }, func() bool { return false }
	first, second := make(look, 1), make(look, 1)
	var g gallery
	g.next = time.Now().Add(time.Hour)
	g.waiting = []look{first, second}

	g.show(p, busy)
	assert.Equal(t, len(first)+len(second), 0)
	g.show(p, idle)
	assert.Assert(t, <-first == <-second)
	assert.Equal(t, len(g.waiting), 0)

	g.show(p, func() bool { t.Fatal("nobody waits, so nobody needs to know"); return true })
	g.next = time.Time{}
	g.waiting = append(g.waiting, first)
	g.show(p, busy)
	assert.Assert(t, <-first != nil)
	assert.Assert(t, !g.next.IsZero())
}
