package scheduler

import (
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// viewShare bounds what readers may cost: one part of so many of the owner's time goes
// to views.
const viewShare = 10

// answerShare does the same for answers that are made from views: they share the
// processors with the owner. They do not make readers wait longer than answerWait.
const (
	answerShare = 4
	answerWait  = 100 * time.Millisecond
)

// A gallery is where readers wait for a view. All who wait get the same one. It
// belongs to the owner.
//
// A view costs what has changed since the last one, so where much changes many readers
// would hold up scheduling; there they wait until enough time has gone to scheduling
// since. As long as nothing happens all get the same view at once.
type gallery struct {
	waiting []look
	next    time.Time    // before it no view is made
	last    *core.View   // nil if something has happened since
	charged atomic.Int64 // nanoseconds that answers took since it was made
}

// charge says that it took so long to answer from a view. Anybody may call it.
func (g *gallery) charge(took time.Duration) { g.charged.Add(int64(took)) }

// due is the moment before which no view is made.
func (g *gallery) due() time.Time {
	return g.next.Add(min((answerShare-1)*time.Duration(g.charged.Load()), answerWait))
}

// show makes a view for those who wait, unless it is too soon for that.
func (g *gallery) show(p *core.Partition) {
	if len(g.waiting) == 0 {
		return
	}
	if g.last == nil {
		began := time.Now()
		if began.Before(g.due()) {
			return
		}
		g.charged.Store(0)
		g.last = p.Draft()
		ended := time.Now()
		g.next = ended.Add((viewShare - 1) * ended.Sub(began))
	}
	for _, l := range g.waiting {
		l <- g.last
	}
	clear(g.waiting)
	g.waiting = g.waiting[:0]
}
