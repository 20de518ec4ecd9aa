package backlog

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// ComparePlaces compares asks of any queues by the order in which a search finds them, if each was
// the only one of its queue: those of an application by age, those of a leaf by their
// applications, and others by the queues below the one that both are in.
func (b *Backlog) ComparePlaces(r, other *ledger.Request) int {
	x, y := b.OfApplication(r.App), b.OfApplication(other.App)
	if x == y {
		return r.InOrder(other)
	}
	if x.leaf == y.leaf {
		x.refreshPlace()
		y.refreshPlace()
		return x.compare(y, cmp.Compare(other.Priority, r.Priority))
	}
	common := x.Queue.Parent.Common(y.Queue.Parent)
	of, first := x.leaf.childAbove(common, r.Priority)
	from, second := y.leaf.childAbove(common, other.Priority)
	of.refreshPlace()
	from.refreshPlace()
	return of.compare(from, cmp.Compare(second, first))
}

// childAbove is the child of an ancestor that a queue is or is below, and a priority as that ancestor
// sees it.
func (q *Queue) childAbove(ancestor *ledger.Queue, priority int32) (*Queue, int32) {
	priority = q.Properties.SeenFromAbove(priority)
	for q.Parent != ancestor {
		q = q.above
		priority = q.Properties.SeenFromAbove(priority)
	}
	return q, priority
}

// refreshPlace works out what decides the order of a queue that stands in none: there it is not
// kept up to date.
func (q *Queue) refreshPlace() {
	if !q.links.In() {
		q.place = q.placed()
	}
}

// refreshPlace is the same for an application.
func (a *Application) refreshPlace() {
	if !a.links.In() {
		a.place = a.placed()
	}
}
