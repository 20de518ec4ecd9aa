package core

import (
	"cmp"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An application is a group of asks and allocations that came together. It
// stands in the order of its leaf queue while it has asks that can be tried.
//
//	used    = the sum of its allocations
//	pending = the sum of its asks
type application struct {
	id        ApplicationID
	queue     *queue
	user      string
	groups    []string
	tags      map[string]string
	submitted time.Time // or when its oldest ask was created, if that is earlier

	state State
	since time.Time

	used        resources.Amounts
	pending     resources.Amounts
	allocations []*request
	asks        []*request

	links  order.Links[*application]
	place  applicationPlace
	sum    backlog // of the asks in the order
	below  backlog // of the subtree of the queue's order
	queued order.Tree[*request]

	loop loop

	view   *ApplicationView
	learnt uint64 // what was known when the view was made
}

// applicationPlace is what decides the order of the applications of a leaf.
type applicationPlace struct {
	priority  int32
	submitted int64 // nanoseconds
	share     resources.Share
}

// Before orders by priority first, unless the queue ignores it; then by age or
// share, as the queue is configured; then by ID.
func (a *application) Before(other *application) bool {
	priority := cmp.Compare(other.place.priority, a.place.priority)
	age := cmp.Compare(a.place.submitted, other.place.submitted)
	first := age
	if a.queue.properties.ApplicationSort == Fair {
		first = a.place.share.Compare(other.place.share)
	}
	if a.queue.properties.IgnorePriority {
		priority, first = first, priority
	}
	return cmp.Or(priority, first, age, strings.Compare(string(a.id), string(other.id))) < 0
}

// Links are the place in the order of the queue.
func (a *application) Links() *order.Links[*application] { return &a.links }

// Summarise works out the backlog of a subtree of the queue's order.
func (a *application) Summarise() bool {
	return a.below.become(a.sum, a.links.Left.subtree(), a.links.Right.subtree())
}

func (a *application) subtree() *backlog {
	if a == nil {
		return nil
	}
	return &a.below
}

// settle brings the backlog and the place in the order of the queue up to date
// with the asks and the use. It reports whether the queue may see a change.
func (a *application) settle() bool {
	sum := emptyBacklog
	if top := a.queued.Root(); top != nil {
		sum = top.below
	}
	place := applicationPlace{priority: sum.top, submitted: a.submitted.UnixNano()}
	if a.queue.properties.ApplicationSort == Fair {
		place.share = resources.DominantShare(a.used, a.queue.guaranteed, a.queue.fairMax)
	}
	return a.queue.apps.Settle(a, a.queued.Len() > 0, place != a.place, sum != a.sum, func() {
		a.place, a.sum = place, sum
	})
}

// idle reports whether the application has nothing left.
func (a *application) idle() bool { return len(a.allocations) == 0 && len(a.asks) == 0 }
