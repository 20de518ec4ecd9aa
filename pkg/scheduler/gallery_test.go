package scheduler

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestReadersShareAView has two readers who wait while it is too soon for a view. They
// get the same one, and as long as nothing happens it is shown again at once.
func TestReadersShareAView(t *testing.T) {
	p := core.NewPartition(core.Options{Kinds: new(resources.Kinds)}, core.Config{Name: "default", Root: core.QueueConfig{Name: "root"}})
	first, second := make(look, 1), make(look, 1)
	var g gallery
	g.next = time.Now().Add(time.Hour)
	g.waiting = []look{first, second}

	g.show(p)
	assert.Equal(t, len(first)+len(second), 0)
	g.next = time.Time{}
	g.show(p)
	view := <-first
	assert.Assert(t, view != nil && view == <-second)
	assert.Equal(t, len(g.waiting), 0)
	assert.Assert(t, !g.next.IsZero())

	g.next = time.Now().Add(time.Hour)
	g.waiting = append(g.waiting, first)
	g.show(p)
	assert.Assert(t, <-first == view)
	g.last = nil // something happens
	g.waiting = append(g.waiting, first)
	g.show(p)
	assert.Equal(t, len(first), 0)
}
