package backlog

import (
	"cmp"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// applicationPlace is what decides the order of the applications of a leaf.
type applicationPlace struct {
	priority  int32
	submitted int64 // nanoseconds
	share     resources.Share
}

// Before orders by priority first, unless the queue ignores it; then by age or
// share, as the queue is configured; then by ID.
func (a *Application) Before(other *Application) bool {
	priority := cmp.Compare(other.place.priority, a.place.priority)
	return a.compare(other, priority) < 0
}

// compare orders two applications of a queue that compare in a way by priority.
func (a *Application) compare(other *Application, priority int) int {
	first := a.compareFirst(other)
	if a.ignoresPriority() {
		priority, first = first, priority
	}
	if order := cmp.Or(priority, first, cmp.Compare(a.place.submitted, other.place.submitted)); order != 0 {
		return order
	}
	return strings.Compare(string(a.ID), string(other.ID))
}

// compareFirst is what decides first beside priority: share or age.
func (a *Application) compareFirst(other *Application) int {
	if a.leaf.Properties.ApplicationSort == api.Fair {
		return a.place.share.Compare(other.place.share)
	}
	return cmp.Compare(a.place.submitted, other.place.submitted)
}

func (a *Application) ignoresPriority() bool { return a.leaf.Properties.IgnorePriority }

func (a *Application) comesLater(other *Application) bool {
	return a.compareFirst(other) > 0
}

func (a *Application) placePriority() int32 { return a.place.priority }

func (a *Application) summaries() (own, below *Summary) { return &a.own, &a.below }

// Links are the place in the order of the queue.
func (a *Application) Links() *order.Links[*Application] { return &a.links }

// Summarise works out the summary of a subtree of the queue's order.
func (a *Application) Summarise() bool {
	return a.below.Become(&a.own, a.links.Left.subtree(), a.links.Right.subtree())
}

func (a *Application) subtree() *Summary {
	if a == nil {
		return nil
	}
	return &a.below
}

// sumUp brings the summary of the groups up to date and reports whether it
// changed.
func (a *Application) sumUp() bool {
	if top := a.Queued.Root(); top != nil {
		return a.own.set(top.below)
	}
	return a.own.set(emptySummary)
}

// placed is what decides the order now.
func (a *Application) placed() applicationPlace {
	place := applicationPlace{priority: a.own.Top, submitted: a.Submitted.UnixNano()}
	if a.leaf.Properties.ApplicationSort == api.Fair {
		place.share = a.leaf.shareOf(a.Used.Amounts)
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

// queuePlace is what decides the order of the queues of one parent.
type queuePlace struct {
	priority int32
	share    resources.Share
}

// placed is the place that a queue belongs at now.
func (q *Queue) placed() queuePlace { return queuePlace{priority: q.Own.Top, share: q.Share()} }

// Before orders by priority, then share, or the other way round where the
// parent ignores priority; then by name.
func (q *Queue) Before(other *Queue) bool {
	priority := cmp.Compare(other.place.priority, q.place.priority)
	return q.compare(other, priority) < 0
}

// compare orders two queues of a parent that compare in a way by priority.
func (q *Queue) compare(other *Queue, priority int) int {
	share := q.place.share.Compare(other.place.share)
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
	return q.place.share.Compare(other.place.share) > 0
}

func (q *Queue) placePriority() int32 { return q.place.priority }

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
	return min(q.backlog.cluster.Of(kind), resources.Unlimited-1) // a cluster has an end
}

// waits reports whether anything below waits.
func (q *Queue) waits() bool {
	return q.Queues.Len()+q.Lines.tree.Len() > 0
}

// alone is the line of a leaf that limits nothing, if it stands in the order by itself. It is
// compared with nothing, so its place and summary are not up to date (see BenchmarkPlace).
func (q *Queue) alone() *line {
	if top := q.Lines.tree.Root(); top != nil && q.Lines.tree.Len() == 1 && top.lineKey == (lineKey{}) {
		return top
	}
	return nil
}

// waiting is what waits below, whatever the quota of this queue.
func (q *Queue) waiting() *Summary {
	if top := q.Queues.Root(); top != nil {
		return &top.below
	}
	switch top := q.Lines.tree.Root(); {
	case top == nil:
		return &emptySummary
	case q.alone() != nil:
		return &top.Apps.Root().below
	default:
		return &top.below
	}
}

// sumUp brings the summary up to date with what waits below and with what is
// left of the quota. It reports whether it changed.
func (q *Queue) sumUp() bool {
	sum := *q.waiting()
	first := int32(api.PriorityNone) // the importance of the highest; others below take no more of what is kept
	if len(q.Kept) > 0 {
		first = q.AsRootSees(sum.Top)
	}
	for _, leaf := range q.active { // their groups are not marked one by one
		sum.ready = max(sum.ready, leaf.Class.Priority)
	}
	sum.Top = q.Properties.SeenFromAbove(sum.Top)
	sum.ready = q.Properties.SeenFromAbove(sum.ready)
	sum.attempts = sum.attempts || len(q.active) > 0
	if sum.Open != nil && !q.HasRoom(*sum.Open, first) {
		sum.Open = nil
	}
	if sum.parked != nil && !q.HasRoom(*sum.parked, first) {
		sum.parked = nil
	}
	return q.Own.set(sum)
}
