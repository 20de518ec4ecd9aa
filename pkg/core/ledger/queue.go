package ledger

import (
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Queue holds applications, if it is a leaf, or other queues.
type Queue struct {
	Account
	Path       api.QueuePath
	Name       string
	Parent     *Queue
	Leaf       bool
	Draining   bool
	Dynamic    bool // made by a rule of placement, and not configured
	WasDynamic bool // before it was configured
	Properties api.QueueProperties
	limits     *queueLimits // of users and groups; nil if there are none
	Submit     access.List
	Admin      access.List
	Template   *api.QueueTemplate // for queues that are made below
	Quota      *api.QueueQuota    // of a dynamic queue, in place of that of its template; may be nil

	Children     map[string]*Queue
	Applications map[api.ApplicationID]*Application

	Slot int32 // a number that no other queue has
	Gone bool  // from the partition

	Change  queueChange   // recorded, and not reacted to yet
	Running tables.Counts // allocations of a leaf
	// Smallest is, for each kind, what every allocation of a leaf holds at least.
	Smallest resources.Amounts

	View *api.QueueView
}

// newQueue makes a queue below a parent, or the root below none.
func (l *Ledger) newQueue(parent *Queue, config *api.QueueConfig) *Queue {
	q := &Queue{
		Slot:         l.QueueSlots.Take(),
		Parent:       parent,
		Name:         config.Name,
		Path:         api.QueuePath(config.Name),
		Children:     map[string]*Queue{},
		Applications: map[api.ApplicationID]*Application{},
	}
	q.Subject = &subject{queue: q}
	if parent != nil {
		q.Account.Parent = &parent.Account
		q.Path = parent.Path + "." + api.QueuePath(config.Name)
		parent.Children[q.Name] = q
	}
	return q
}

// Unview drops the views of a queue and of those above it.
func (q *Queue) Unview() {
	for ; q != nil; q = q.Parent {
		q.View = nil
	}
}

// DropView has the view of a queue made anew.
func (q *Queue) DropView() { q.View = nil }

// ShowAs keeps the view of a queue until it changes.
func (q *Queue) ShowAs(view *api.QueueView) { q.View = view }

// AsRootSees is a priority in the order of the queue as the root sees it.
func (q *Queue) AsRootSees(priority int32) int32 {
	for ; q != nil; q = q.Parent {
		priority = q.Properties.SeenFromAbove(priority)
	}
	return priority
}

// addRunning counts an allocation that runs in a leaf, and removeRunning one that has
// ended. After an end, smallest may be less than the allocations hold.
func (q *Queue) addRunning(r *Request) (smaller bool) {
	if smaller = len(q.Running) == 0; smaller {
		q.Smallest = append(q.Smallest[:0], r.Amounts...)
	}
	for i, least := range q.Smallest {
		if held := r.Amounts.Of(resources.Kind(i)); held < least {
			q.Smallest[i], smaller = held, true
		}
	}
	q.Running.Add(r.Priority)
	return smaller
}

func (q *Queue) removeRunning(r *Request) { q.Running.Remove(r.Priority) }

// UpTo is the first queue on the way to the root for which a condition holds, or the
// root.
func (q *Queue) UpTo(holds func(*Queue) bool) *Queue {
	for q.Parent != nil && !holds(q) {
		q = q.Parent
	}
	return q
}

// IsFenced reports whether victims for asks below are below the queue only.
func (q *Queue) IsFenced() bool { return q.Properties.PreemptionPolicy == api.PreemptionFence }

// Within reports whether a queue is another or below it.
func (q *Queue) Within(other *Queue) bool {
	for ; q != nil; q = q.Parent {
		if q == other {
			return true
		}
	}
	return false
}

// Common is the lowest queue that two queues are in.
func (q *Queue) Common(other *Queue) *Queue {
	for !other.Within(q) {
		q = q.Parent
	}
	return q
}

// SortedChildren are the queues below by name.
func (q *Queue) SortedChildren() []*Queue {
	return slices.SortedFunc(maps.Values(q.Children), func(a, b *Queue) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// SortedApplications are the applications of a leaf by ID.
func (q *Queue) SortedApplications() []*Application {
	return slices.SortedFunc(maps.Values(q.Applications), func(a, b *Application) int {
		return strings.Compare(string(a.ID), string(b.ID))
	})
}

// AllRunning visits the allocations below a queue, in a fixed order.
func (q *Queue) AllRunning(yield func(*Request) bool) { q.visitRunning(yield) }

func (q *Queue) visitRunning(yield func(*Request) bool) bool {
	for _, child := range q.SortedChildren() {
		if !child.visitRunning(yield) {
			return false
		}
	}
	for _, app := range q.SortedApplications() {
		for _, r := range app.Allocations {
			if !yield(r) {
				return false
			}
		}
	}
	return true
}

// Everywhere reports whether a condition holds for a queue and for all below it.
func (q *Queue) Everywhere(is func(*Queue) bool) bool {
	if !is(q) {
		return false
	}
	for _, child := range q.Children {
		if !child.Everywhere(is) {
			return false
		}
	}
	return true
}
