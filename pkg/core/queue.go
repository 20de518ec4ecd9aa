package core

import (
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A queue holds applications, if it is a leaf, or other queues.
type queue struct {
	account
	path       api.QueuePath
	name       string
	parent     *queue
	leaf       bool
	draining   bool
	dynamic    bool // made by a rule of placement, and not configured
	wasDynamic bool // before it was configured
	properties api.QueueProperties
	limits     *queueLimits // of users and groups; nil if there are none
	submit     access.List
	admin      access.List
	template   *api.QueueTemplate // for queues that are made below
	quota      *api.QueueQuota    // of a dynamic queue, in place of that of its template; may be nil

	children     map[string]*queue
	applications map[api.ApplicationID]*application

	slot int32 // a number that no other queue has
	gone bool  // from the partition

	change  queueChange   // recorded, and not reacted to yet
	running tables.Counts // allocations of a leaf
	// smallest is, for each kind, what every allocation of a leaf holds at least.
	smallest resources.Amounts

	view *api.QueueView
}

func (l *ledger) newQueue(parent *queue, config *api.QueueConfig) *queue {
	q := &queue{
		slot:         l.queueSlots.Take(),
		parent:       parent,
		name:         config.Name,
		path:         api.QueuePath(config.Name),
		children:     map[string]*queue{},
		applications: map[api.ApplicationID]*application{},
	}
	q.subject = &subject{queue: q}
	if parent != nil {
		q.account.parent = &parent.account
		q.path = parent.path + "." + api.QueuePath(config.Name)
	}
	return q
}

// asRootSees is a priority in the order of the queue as the root sees it.
func (q *queue) asRootSees(priority int32) int32 {
	for ; q != nil; q = q.parent {
		priority = q.properties.SeenFromAbove(priority)
	}
	return priority
}

// addRunning counts an allocation that runs in a leaf, and removeRunning one that has
// ended. After an end, smallest may be less than the allocations hold.
func (q *queue) addRunning(r *request) (smaller bool) {
	if smaller = len(q.running) == 0; smaller {
		q.smallest = append(q.smallest[:0], r.Amounts...)
	}
	for i, least := range q.smallest {
		if held := r.Amounts.Of(resources.Kind(i)); held < least {
			q.smallest[i], smaller = held, true
		}
	}
	q.running.Add(r.Priority)
	return smaller
}

func (q *queue) removeRunning(r *request) { q.running.Remove(r.Priority) }

// upTo is the first queue on the way to the root for which a condition holds, or the
// root.
func (q *queue) upTo(holds func(*queue) bool) *queue {
	for q.parent != nil && !holds(q) {
		q = q.parent
	}
	return q
}

// isFenced reports whether victims for asks below are below the queue only.
func (q *queue) isFenced() bool { return q.properties.PreemptionPolicy == api.PreemptionFence }

// within reports whether a queue is another or below it.
func (q *queue) within(other *queue) bool {
	for ; q != nil; q = q.parent {
		if q == other {
			return true
		}
	}
	return false
}

// commonQueue is the lowest queue that two queues are in.
func commonQueue(a, b *queue) *queue {
	for !b.within(a) {
		a = a.parent
	}
	return a
}

func (q *queue) sortedChildren() []*queue {
	return slices.SortedFunc(maps.Values(q.children), func(a, b *queue) int {
		return strings.Compare(a.name, b.name)
	})
}

func (q *queue) sortedApplications() []*application {
	return slices.SortedFunc(maps.Values(q.applications), func(a, b *application) int {
		return strings.Compare(string(a.id), string(b.id))
	})
}

// allRunning visits the allocations below a queue, in a fixed order.
func (q *queue) allRunning(yield func(*request) bool) { q.visitRunning(yield) }

func (q *queue) visitRunning(yield func(*request) bool) bool {
	for _, child := range q.sortedChildren() {
		if !child.visitRunning(yield) {
			return false
		}
	}
	for _, app := range q.sortedApplications() {
		for _, r := range app.allocations {
			if !yield(r) {
				return false
			}
		}
	}
	return true
}

// everywhere reports whether a condition holds for a queue and for all below it.
func (q *queue) everywhere(is func(*queue) bool) bool {
	if !is(q) {
		return false
	}
	for _, child := range q.children {
		if !child.everywhere(is) {
			return false
		}
	}
	return true
}
