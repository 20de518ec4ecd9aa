package api

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// QueueView is a queue at one moment.
type QueueView struct {
	Path       QueuePath
	Leaf       bool
	Draining   bool
	Dynamic    bool             // made by a rule of placement, or the recovery queue
	WasDynamic bool             // before it was configured: it is again when it is taken out
	Quota      *QueueQuota      // of a dynamic queue, in place of that of its template; may be nil
	Max        resources.Limits // as configured for this queue
	Guaranteed resources.Amounts
	Used       resources.Amounts // with everything below
	Pending    resources.Amounts
	Nominated  resources.Amounts // to nominated asks
	Releasing  resources.Amounts // of allocations that are being evicted and are not overdue
	// OverMaxSince is since when the queue uses more than its max; zero while it does
	// not. QuotaPlan is the last plan to change that, made at QuotaPlanned; nil if
	// there was none. It is shared and must not be changed.
	OverMaxSince time.Time
	QuotaPlan    *preemptor.Decision
	QuotaPlanned time.Time
	Share        resources.Share // the dominant share, by which the queues of one parent are ordered
	Priority     int32           // highest pending, as the parent sees it; PriorityNone when nothing is
	Properties   QueueProperties
	Queues       []*QueueView
	// Applications counts those of a leaf. Counted are those here and below that count for
	// limits of applications, and ApplicationsMax is how many may; zero is no limit.
	Applications, Counted, ApplicationsMax int
}

// Towards is the queue below this one, one step down, that is another one or above it; nil if there is none.
func (q *QueueView) Towards(path QueuePath) *QueueView {
	for _, child := range q.Queues {
		if path.IsWithin(child.Path) {
			return child
		}
	}
	return nil
}
