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
		refreshApplication(a)
		refreshApplication(b)
		return a.compare(b, cmp.Compare(other.Priority, r.Priority))
	}
	x, y := ancestor{a.queue, r.Priority}, ancestor{b.queue, other.Priority}
	for x.queue.parent != y.queue.parent {
		if x.depth() >= y.depth() {
			x = x.above()
		} else {
			y = y.above()
		}
	}
	x.refreshPlace()
	y.refreshPlace()
	return x.compare(y.queue, cmp.Compare(y.above().priority, x.above().priority))
}

// An ancestor is a queue that an ask is in or below, and the priority of the ask as it sees it.
type ancestor struct {
	*queue
	priority int32
}

func (q ancestor) above() ancestor {
	return ancestor{q.parent, q.properties.seenFromAbove(q.priority)}
}

// depth is how many queues are above one.
func (q *queue) depth() (depth int) {
	for q = q.parent; q != nil; q = q.parent {
		depth++
	}
	return depth
}

// refreshPlace works out what decides the order of a queue that stands in none: there it is not
// kept up to date.
func (q *queue) refreshPlace() {
	if !q.links.In() {
		q.place = queuePlace{priority: q.own.top, share: q.share()}
	}
}

// refreshApplication is the same for an application.
func refreshApplication(a *application) {
	if !a.links.In() {
		a.place = a.placed()
	}
}
