package scheduler

import (
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// viewShare bounds what readers may cost: one part of so many of the owner's time goes
// to views.
const viewShare = 10

// Answers that are made from views share the processors with the owner. If there were
// any, the next view is made when they took one part in answerShare of the time of a
// processor, but after a pause between these two: not so soon that every answer is a
// new one, and not so late that people notice.
const (
	answerShare   = 4
	answerSoonest = 120 * time.Millisecond
	answerLatest  = 150 * time.Millisecond
)

// A gallery is where readers wait for a view. All who wait get the same one. It
// belongs to the owner.
//
// A view costs what has changed since the last one, so where much changes many readers
// would hold up scheduling; there they wait until enough time has gone to scheduling
// since. As long as nothing happens all get the same view at once.
type gallery struct {
	waiting []look
	last    *picture      // nil if there is none, or none that the next one needs
	stale   bool          // something has happened since the last
	changed time.Time     // when that was first
	cost    time.Duration // of the last
	charged atomic.Int64  // nanoseconds that answers took since
}

// changes says that something happens to the partition.
func (g *gallery) changes() {
	if g.stale {
		return
	}
	g.stale, g.changed = true, time.Now()
	if g.last != nil && g.last.done.Load() {
		g.last = nil // nobody needs it any more
	}
}

// charge says that it took so long to answer from a view. Anybody may call it.
func (g *gallery) charge(took time.Duration) { g.charged.Add(int64(took)) }

// due is the moment before which no view is made of what has changed.
func (g *gallery) due() time.Time {
	pause := (viewShare - 1) * g.cost
	if charged := time.Duration(g.charged.Load()); charged > 0 {
		pause = max(pause, answerSoonest, min((answerShare-1)*charged, answerLatest))
	}
	return g.changed.Add(pause)
}

// show makes a view for those who wait, unless it is too soon for that.
func (g *gallery) show(p *core.Partition) {
	if len(g.waiting) == 0 {
		return
	}
	if g.stale || g.last == nil {
		began := time.Now()
		if began.Before(g.due()) {
			return
		}
		g.charged.Store(0)
		g.last, g.stale = g.last.after(p.Draft()), false
		g.cost = time.Since(began)
	}
	for _, l := range g.waiting {
		l <- g.last
	}
	clear(g.waiting)
	g.waiting = g.waiting[:0]
}
