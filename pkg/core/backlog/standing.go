package backlog

import (
	"cmp"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// ApplicationPlace is what decides the order of the applications of a leaf.
type ApplicationPlace struct {
	priority  int32
	submitted int64 // nanoseconds
	share     resources.Share
}

// Before orders by priority first, unless the queue ignores it; then by age or
// share, as the queue is configured; then by ID.
func (a *Application) Before(other *Application) bool {
	priority := cmp.Compare(other.Place.priority, a.Place.priority)
	return a.compare(other, priority) < 0
}

// compare orders two applications of a queue that compare in a way by priority.
func (a *Application) compare(other *Application, priority int) int {
	first := a.compareFirst(other)
	if a.ignoresPriority() {
		priority, first = first, priority
	}
	if order := cmp.Or(priority, first, cmp.Compare(a.Place.submitted, other.Place.submitted)); order != 0 {
		return order
	}
	return strings.Compare(string(a.ID), string(other.ID))
}

// compareFirst is what decides first beside priority: share or age.
func (a *Application) compareFirst(other *Application) int {
	if a.Leaf.Properties.ApplicationSort == api.Fair {
		return a.Place.share.Compare(other.Place.share)
	}
	return cmp.Compare(a.Place.submitted, other.Place.submitted)
}

func (a *Application) ignoresPriority() bool { return a.Leaf.Properties.IgnorePriority }

func (a *Application) comesLater(other *Application) bool {
	return a.compareFirst(other) > 0
}

func (a *Application) placePriority() int32 { return a.Place.priority }

func (a *Application) summaries() (own, below *Summary) { return &a.Own, &a.below }

// Links are the place in the order of the queue.
func (a *Application) Links() *order.Links[*Application] { return &a.links }

// Summarise works out the summary of a subtree of the queue's order.
func (a *Application) Summarise() bool {
	return a.below.Become(&a.Own, a.links.Left.subtree(), a.links.Right.subtree())
}

func (a *Application) subtree() *Summary {
	if a == nil {
		return nil
	}
	return &a.below
}

// SumUp brings the summary of the groups up to date and reports whether it
// changed.
func (a *Application) SumUp() bool {
	if top := a.Queued.Root(); top != nil {
		return a.Own.set(top.below)
	}
	return a.Own.set(EmptySummary)
}

// Placed is what decides the order now.
func (a *Application) Placed() ApplicationPlace {
	place := ApplicationPlace{priority: a.Own.Top, submitted: a.Submitted.UnixNano()}
	if a.Leaf.Properties.ApplicationSort == api.Fair {
		place.share = a.Leaf.shareOf(a.Used.Amounts)
	}
	return place
}

// compareFirsts orders two places of applications of a leaf, which compare in a way by priority.
func (q *Queue) compareFirsts(a, b linePlace, priority int) int {
	age := cmp.Compare(a.submitted, b.submitted)
	first := age
	if q.Properties.ApplicationSort == api.Fair {
		first = a.share.Compare(b.share)
	}
	if q.Properties.IgnorePriority {
		priority, first = first, priority
	}
	if order := cmp.Or(priority, first, age); order != 0 {
		return order
	}
	return strings.Compare(string(a.id), string(b.id))
}

// QueuePlace is what decides the order of the queues of one parent.
type QueuePlace struct {
	priority int32
	share    resources.Share
}

// Placed is the place that a queue belongs at now.
func (q *Queue) Placed() QueuePlace { return QueuePlace{priority: q.Own.Top, share: q.Share()} }

// Before orders by priority, then share, or the other way round where the
// parent ignores priority; then by name.
func (q *Queue) Before(other *Queue) bool {
	priority := cmp.Compare(other.Place.priority, q.Place.priority)
	return q.compare(other, priority) < 0
}

// compare orders two queues of a parent that compare in a way by priority.
func (q *Queue) compare(other *Queue, priority int) int {
	share := q.Place.share.Compare(other.Place.share)
	if q.ignoresPriority() {
		priority, share = share, priority
	}
	if order := cmp.Or(priority, share); order != 0 {
		return order
	}
	return strings.Compare(q.Name, other.Name)
}

func (q *Queue) ignoresPriority() bool { return q.above.Properties.IgnorePriority }

// comesLater reports whether a queue has a larger share than another.
func (q *Queue) comesLater(other *Queue) bool {
	return q.Place.share.Compare(other.Place.share) > 0
}

func (q *Queue) placePriority() int32 { return q.Place.priority }

func (q *Queue) summaries() (own, below *Summary) { return &q.Own, &q.below }

// Links are the place in the order of the parent.
func (q *Queue) Links() *order.Links[*Queue] { return &q.links }

// Summarise works out the summary of a subtree of the parent's order.
func (q *Queue) Summarise() bool {
	return q.below.Become(&q.Own, q.links.Left.subtree(), q.links.Right.subtree())
}

func (q *Queue) subtree() *Summary {
	if q == nil {
		return nil
	}
	return &q.below
}

// Share is how much of its guarantee the queue uses.
func (q *Queue) Share() resources.Share {
	return q.shareOf(q.Used.Amounts)
}

// shareOf is the largest part, over the kinds, of what is guaranteed to the queue, or of the
// max that applies where nothing is.
func (q *Queue) shareOf(used resources.Amounts) (most resources.Share) {
	for i, v := range used {
		if v <= 0 {
			continue
		}
		whole := q.Guaranteed.Of(resources.Kind(i))
		if whole <= 0 {
			whole = q.fairMax(resources.Kind(i))
		}
		if share := resources.ShareOf(v, whole); share.Compare(most) > 0 {
			most = share
		}
	}
	return most
}

// fairMax is what a share is measured against where nothing is guaranteed: the max of the
// nearest queue upward that has one, or the size of the cluster.
func (q *Queue) fairMax(kind resources.Kind) int64 {
	for ; q.above != nil; q = q.above {
		if most := q.Max.Of(kind); most != resources.Unlimited {
			return most
		}
	}
	if most := q.Max.Of(kind); most != resources.Unlimited {
		return most
	}
	return min(q.backlog.Cluster.Of(kind), resources.Unlimited-1) // a cluster has an end
}

// Waits reports whether anything below waits.
func (q *Queue) Waits() bool {
	return q.Queues.Len()+q.Lines.Tree.Len() > 0
}

// Alone is the line of a leaf that limits nothing, if it stands in the order by itself. It is
// compared with nothing, so its place and summary are not up to date (see BenchmarkPlace).
func (q *Queue) Alone() *Line {
	if top := q.Lines.Tree.Root(); top != nil && q.Lines.Tree.Len() == 1 && top.LineKey == (LineKey{}) {
		return top
	}
	return nil
}

// Waiting is what waits below, whatever the quota of this queue.
func (q *Queue) Waiting() *Summary {
	if top := q.Queues.Root(); top != nil {
		return &top.below
	}
	switch top := q.Lines.Tree.Root(); {
	case top == nil:
		return &EmptySummary
	case q.Alone() != nil:
		return &top.Apps.Root().below
	default:
		return &top.below
	}
}

// SumUp brings the summary up to date with what waits below and with what is
// left of the quota. It reports whether it changed.
func (q *Queue) SumUp() bool {
	sum := *q.Waiting()
	first := int32(api.PriorityNone) // the importance of the highest; others below take no more of what is kept
	if len(q.Kept) > 0 {
		first = q.AsRootSees(sum.Top)
	}
	for _, leaf := range q.Active { // their groups are not marked one by one
		sum.Ready = max(sum.Ready, leaf.Class.Priority)
	}
	sum.Top = q.Properties.SeenFromAbove(sum.Top)
	sum.Ready = q.Properties.SeenFromAbove(sum.Ready)
	sum.Attempts = sum.Attempts || len(q.Active) > 0
	if sum.Open != nil && !q.HasRoom(*sum.Open, first) {
		sum.Open = nil
	}
	if sum.Parked != nil && !q.HasRoom(*sum.Parked, first) {
		sum.Parked = nil
	}
	return q.Own.set(sum)
}
