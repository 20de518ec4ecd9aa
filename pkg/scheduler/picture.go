package scheduler

import (
	"sync"
	"sync/atomic"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A picture is a view that the owner has drafted and that whoever gets it completes,
// once for all, so that the owner can go on.
type picture struct {
	view   *core.View
	before *picture // that is to be completed first; nil if none is
	once   sync.Once
	done   atomic.Bool
}

// after is a picture of a partition after another; nil if that is the first.
func (p *picture) after(view *core.View) *picture {
	next := &picture{view: view}
	if p != nil && !p.done.Load() {
		next.before = p
	}
	return next
}

// complete is the view. It may be called from any goroutine.
func (p *picture) complete() *core.View {
	p.once.Do(func() {
		if p.before != nil {
			p.before.complete()
			p.before = nil
		}
		p.view.Complete()
		p.done.Store(true)
	})
	return p.view
}
