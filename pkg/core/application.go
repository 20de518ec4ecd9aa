package core

import (
	"cmp"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
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

	state      State
	since      time.Time
	completion timers.Timer[due]

	used        resources.Amounts
	pending     resources.Amounts
	allocations []*request
	asks        []*request

	links   order.Links[*application]
	place   applicationPlace
	own     summary // of its groups
	below   summary // of the subtree of the queue's order
	classes map[*class]*askGroup
	queued  order.Tree[*askGroup]

	thrash thrashGuard

	changed bool // recorded, and not reacted to yet

	view     *ApplicationView
	viewedAt uint64 // the stamp when the view was made
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

// Summarise works out the summary of a subtree of the queue's order.
func (a *application) Summarise() bool {
	return a.below.become(&a.own, a.links.Left.subtree(), a.links.Right.subtree())
}

func (a *application) subtree() *summary {
	if a == nil {
		return nil
	}
	return &a.below
}

// summarise brings the summary of the groups up to date and reports whether it
// changed.
func (a *application) summarise() bool {
	if top := a.queued.Root(); top != nil {
		return a.own.become(&top.below, nil, nil)
	}
	return a.own.become(&emptySummary, nil, nil)
}

// placed is what decides the order now.
func (a *application) placed() applicationPlace {
	place := applicationPlace{priority: a.own.top, submitted: a.submitted.UnixNano()}
	if a.queue.properties.ApplicationSort == Fair {
		place.share = resources.DominantShare(a.used, a.queue.guaranteed, a.queue.fairMax)
	}
	return place
}

// idle reports whether the application has nothing left.
func (a *application) idle() bool { return len(a.allocations) == 0 && len(a.asks) == 0 }
