package scheduler

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// viewShare bounds what readers may cost while there is work: one part of so many
// of the owner's time goes to views.
const viewShare = 10

// A gallery is where readers wait for a view. All who wait get the same one. It
// belongs to the owner.
//
// A view costs what has changed since the last one, so on a busy partition many
// readers would hold up scheduling; there they wait until enough time has gone to
// scheduling since. On an idle one nobody waits, and as long as nothing happens all
// get the same view.
type gallery struct {
	waiting []look
	next    time.Time  // before it no view is made while there is work
	last    *core.View // nil if something has happened since
}

// show makes a view for those who wait, unless there is work and it is too soon.
func (g *gallery) show(p *core.Partition, busy func() bool) {
	if len(g.waiting) == 0 {
		return
	}
	began := time.Now()
	if began.Before(g.next) && busy() {
		return
	}
	if g.last == nil {
		g.last = p.View()
	}
	for _, l := range g.waiting {
		l <- g.last
	}
	clear(g.waiting)
	g.waiting = g.waiting[:0]
	ended := time.Now()
	g.next = ended.Add((viewShare - 1) * ended.Sub(began))
}
