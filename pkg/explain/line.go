package explain

import (
	"context"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// InLine tells what waits in the order in which the core would place it if there was room for all, as long as it is told
// to go on and the context lasts. What waits for something else than room is not told.
func InLine(ctx context.Context, view *api.View, kinds *resources.Kinds, now time.Time, tell func(*api.Allocation) bool) {
	if ctx.Err() != nil {
		return
	}
	open := *view
	open.Config.Preemption.Disabled = true
	open.Config.Root = unlimited(open.Config.Root)
	open.Root = opened(open.Root)
	p := core.Restore(api.Options{Kinds: kinds, Partition: open.Partition, ReserveDelay: -1}, now, &open)
	p.Apply(now, api.AddNode{ID: "room for all", Capacity: roomForAll(view)})
	for more := true; more && ctx.Err() == nil; {
		var fx api.Effects
		fx, more = p.Schedule(now)
		for _, event := range fx {
			if placed, ok := event.(api.Placed); ok && !tell(placed.Allocation) {
				return
			}
		}
	}
}

// roomForAll is what the nodes have, so many times that all that waits fits: shares of the cluster stay as they are to each other.
func roomForAll(view *api.View) resources.Amounts {
	pending, times := view.Root.Pending, int64(1)
	for i, wanted := range pending {
		if there := view.Capacity.Of(resources.Kind(i)); there > 0 {
			times = max(times, wanted/there+1)
		}
	}
	var room resources.Amounts
	for i := range max(len(pending), len(view.Capacity)) {
		kind := resources.Kind(i)
		whole := view.Capacity.Of(kind)
		if whole > 0 && times > resources.Unlimited/whole {
			whole = resources.Unlimited - 1
		} else {
			whole *= times
		}
		room.Set(kind, max(whole, pending.Of(kind)))
	}
	return room
}

// unlimited is a configured queue without limits there and below.
func unlimited(q api.QueueConfig) api.QueueConfig {
	q.Max, q.Limits, q.ApplicationsMax = nil, nil, 0
	q.Queues = slices.Clone(q.Queues)
	for i := range q.Queues {
		q.Queues[i] = unlimited(q.Queues[i])
	}
	return q
}

// opened is the same of a queue that there is.
func opened(q *api.QueueView) *api.QueueView {
	own := *q
	own.Max, own.ApplicationsMax = nil, 0
	if q.Quota != nil {
		own.Quota = &api.QueueQuota{Guaranteed: q.Quota.Guaranteed}
	}
	own.Queues = make([]*api.QueueView, len(q.Queues))
	for i, child := range q.Queues {
		own.Queues[i] = opened(child)
	}
	return &own
}
