package core

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
func (a *waitingApplication) Before(other *waitingApplication) bool {
	priority := cmp.Compare(other.place.priority, a.place.priority)
	return a.compare(other, priority) < 0
}

// compare orders two applications of a queue that compare in a way by priority.
func (a *waitingApplication) compare(other *waitingApplication, priority int) int {
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
func (a *waitingApplication) compareFirst(other *waitingApplication) int {
	if a.Queue.Properties.ApplicationSort == api.Fair {
		return a.place.share.Compare(other.place.share)
	}
	return cmp.Compare(a.place.submitted, other.place.submitted)
}

func (a *waitingApplication) ignoresPriority() bool { return a.Queue.Properties.IgnorePriority }

func (a *waitingApplication) comesLater(other *waitingApplication) bool {
	return a.compareFirst(other) > 0
}

func (a *waitingApplication) placePriority() int32 { return a.place.priority }

func (a *waitingApplication) summaries() (own, below *summary) { return &a.own, &a.below }

// Links are the place in the order of the queue.
func (a *waitingApplication) Links() *order.Links[*waitingApplication] { return &a.links }

// Summarise works out the summary of a subtree of the queue's order.
func (a *waitingApplication) Summarise() bool {
	return a.below.become(&a.own, a.links.Left.subtree(), a.links.Right.subtree())
}

func (a *waitingApplication) subtree() *summary {
	if a == nil {
		return nil
	}
	return &a.below
}

// sumUp brings the summary of the groups up to date and reports whether it
// changed.
func (a *waitingApplication) sumUp() bool {
	if top := a.queued.Root(); top != nil {
		return a.own.set(top.below)
	}
	return a.own.set(emptySummary)
}

// placed is what decides the order now.
func (a *waitingApplication) placed() applicationPlace {
	place := applicationPlace{priority: a.own.top, submitted: a.Submitted.UnixNano()}
	if a.Queue.Properties.ApplicationSort == api.Fair {
		place.share = a.leaf.shareOf(a.Used.Amounts)
	}
	return place
}

// compareFirsts orders two places of applications of a leaf, which compare in a way by priority.
func (q *waitingQueue) compareFirsts(a, b linePlace, priority int) int {
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
func (q *waitingQueue) placed() queuePlace { return queuePlace{priority: q.own.top, share: q.share()} }

// Before orders by priority, then share, or the other way round where the
// parent ignores priority; then by name.
func (q *waitingQueue) Before(other *waitingQueue) bool {
	priority := cmp.Compare(other.place.priority, q.place.priority)
	return q.compare(other, priority) < 0
}

// compare orders two queues of a parent that compare in a way by priority.
func (q *waitingQueue) compare(other *waitingQueue, priority int) int {
	share := q.place.share.Compare(other.place.share)
	if q.ignoresPriority() {
		priority, share = share, priority
	}
	if order := cmp.Or(priority, share); order != 0 {
		return order
	}
	return strings.Compare(q.Name, other.Name)
}

func (q *waitingQueue) ignoresPriority() bool { return q.Parent.Properties.IgnorePriority }

// comesLater reports whether a queue has a larger share than another.
func (q *waitingQueue) comesLater(other *waitingQueue) bool {
	return q.place.share.Compare(other.place.share) > 0
}

func (q *waitingQueue) placePriority() int32 { return q.place.priority }

func (q *waitingQueue) summaries() (own, below *summary) { return &q.own, &q.below }

// Links are the place in the order of the parent.
func (q *waitingQueue) Links() *order.Links[*waitingQueue] { return &q.links }

// Summarise works out the summary of a subtree of the parent's order.
func (q *waitingQueue) Summarise() bool {
	return q.below.become(&q.own, q.links.Left.subtree(), q.links.Right.subtree())
}

func (q *waitingQueue) subtree() *summary {
	if q == nil {
		return nil
	}
	return &q.below
}

// share is how much of its guarantee the queue uses.
func (q *waitingQueue) share() resources.Share {
	return q.shareOf(q.Used.Amounts)
}

// shareOf is the largest part, over the kinds, of what is guaranteed to the queue, or of the
// max that applies where nothing is.
func (q *waitingQueue) shareOf(used resources.Amounts) (most resources.Share) {
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
func (q *waitingQueue) fairMax(kind resources.Kind) int64 {
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
func (q *waitingQueue) waits() bool {
	return q.queues.Len()+q.lines.tree.Len() > 0
}

// alone is the line of a leaf that limits nothing, if it stands in the order by itself. It is
// compared with nothing, so its place and summary are not up to date (see BenchmarkPlace).
func (q *waitingQueue) alone() *line {
	if top := q.lines.tree.Root(); top != nil && q.lines.tree.Len() == 1 && top.lineKey == (lineKey{}) {
		return top
	}
	return nil
}

// waiting is what waits below, whatever the quota of this queue.
func (q *waitingQueue) waiting() *summary {
	if top := q.queues.Root(); top != nil {
		return &top.below
	}
	switch top := q.lines.tree.Root(); {
	case top == nil:
		return &emptySummary
	case q.alone() != nil:
		return &top.apps.Root().below
	default:
		return &top.below
	}
}

// sumUp brings the summary up to date with what waits below and with what is
// left of the quota. It reports whether it changed.
func (q *waitingQueue) sumUp() bool {
	sum := *q.waiting()
	first := int32(api.PriorityNone) // the importance of the highest; others below take no more of what is kept
	if len(q.Kept) > 0 {
		first = q.AsRootSees(sum.top)
	}
	for _, leaf := range q.active { // their groups are not marked one by one
		sum.ready = max(sum.ready, leaf.class.priority)
	}
	sum.top = q.Properties.SeenFromAbove(sum.top)
	sum.ready = q.Properties.SeenFromAbove(sum.ready)
	sum.attempts = sum.attempts || len(q.active) > 0
	if sum.open != nil && !q.HasRoom(*sum.open, first) {
		sum.open = nil
	}
	if sum.parked != nil && !q.HasRoom(*sum.parked, first) {
		sum.parked = nil
	}
	return q.own.set(sum)
}
