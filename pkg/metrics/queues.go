package metrics

import (
	dto "github.com/prometheus/client_model/go"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/guarantee"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Labels of queues. Those of the states that applications only pass through
// come last, and no application of a view is ever seen in them.
var (
	queueStates = labelled("state", []string{"guaranteed", "max", "allocated", "pending", "nominated", "preempting"})
	appStates   = labelled("state", stateTexts[:])
)

// passing is the states that an application leaves the partition with.
var passing = [len(stateTexts)]bool{api.Completed: true, api.Failed: true}

// queue makes the series of a queue and of those below. What is left above is the
// least of the limits on the way to the root.
func (r *reading) queue(q *api.QueueView, above resources.Limits) {
	path := label("queue", string(q.Path))
	left := above.Least(q.Max.Minus(q.Used))
	for i, resource := range r.resource {
		kind := resources.Kind(i)
		if headroom := left.Of(kind); headroom != resources.Unlimited {
			r.page.add(queueHeadroom, float64(headroom), r.partition, path, resource)
		}
		r.queueResource(q, path, kind)
	}
	if q.Leaf {
		r.leaf(q, path)
	}
	for _, child := range q.Queues {
		r.queue(child, left)
	}
}

// queueResource makes the series of one kind: its limits as far as they are set,
// and its use where it is limited, used or asked for, in the queue or anywhere in
// the partition. So there is a zero where one looks for it, and nothing about the
// kinds that are not used at all.
func (r *reading) queueResource(q *api.QueueView, path *dto.LabelPair, kind resources.Kind) {
	guaranteed, most := q.Guaranteed.Of(kind), q.Max.Of(kind)
	use := [...]int64{q.Used.Of(kind), q.Pending.Of(kind), q.Nominated.Of(kind), q.Releasing.Of(kind)}
	if guaranteed == 0 && most == resources.Unlimited && !r.busy[kind] && use == [4]int64{} {
		return
	}
	resource := r.resource[kind]
	if guaranteed != 0 {
		r.page.add(queueResource, float64(guaranteed), r.partition, path, resource, queueStates[0])
		r.page.add(queueLacking, float64(guarantee.Lacking(q, kind)), r.partition, path, resource)
	}
	if most != resources.Unlimited {
		r.page.add(queueResource, float64(most), r.partition, path, resource, queueStates[1])
	}
	for i, value := range use {
		r.page.add(queueResource, float64(value), r.partition, path, resource, queueStates[2+i])
	}
}

// leaf makes the series of the applications of a queue.
func (r *reading) leaf(q *api.QueueView, path *dto.LabelPair) {
	c := r.leaves[q.Path]
	if c == nil {
		c = new(leafCounts)
	}
	for state, n := range c.states {
		if n > 0 || !passing[state] {
			r.page.add(queueApps, float64(n), r.partition, path, appStates[state])
		}
	}
	r.page.add(queueAllocations, float64(c.allocations), r.partition, path)
	for reason, n := range c.reasons {
		if n > 0 {
			r.page.add(queueAsks, float64(n), r.partition, path, reasonLabels[reason])
		}
	}
}
