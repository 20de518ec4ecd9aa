package core

import "cmp"

// comparePlaces compares asks of any queues by the order in which a search finds them, if each was
// the only one of its queue: those of an application by age, those of a leaf by their
// applications, and others by the queues below the one that both are in.
func comparePlaces(r, other *request) int {
	a, b := r.application, other.application
	if a == b {
		return inOrder(r, other)
	}
	if a.queue == b.queue {
		a.refreshPlace()
		b.refreshPlace()
		return a.compare(b, cmp.Compare(other.Priority, r.Priority))
	}
	common := commonQueue(a.queue.parent, b.queue.parent)
	x, first := a.queue.childAbove(common, r.Priority)
	y, second := b.queue.childAbove(common, other.Priority)
	x.refreshPlace()
	y.refreshPlace()
	return x.compare(y, cmp.Compare(second, first))
}

// childAbove is the child of an ancestor that a queue is or is below, and a priority as that ancestor
// sees it.
func (q *queue) childAbove(ancestor *queue, priority int32) (*queue, int32) {
	priority = q.properties.SeenFromAbove(priority)
	for q.parent != ancestor {
		q = q.parent
		priority = q.properties.SeenFromAbove(priority)
	}
	return q, priority
}

// refreshPlace works out what decides the order of a queue that stands in none: there it is not
// kept up to date.
func (q *queue) refreshPlace() {
	if !q.links.In() {
		q.place = q.placed()
	}
}

// refreshPlace is the same for an application.
func (a *application) refreshPlace() {
	if !a.links.In() {
		a.place = a.placed()
	}
}
