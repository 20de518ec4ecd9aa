package forecast

import (
	"context"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// lineOf is the place of an ask of a queue; nil if it would not be placed though there is room for all, as it waits for something
// else, or if the time is over.
func lineOf(ctx context.Context, q Question, queue api.QueuePath, key api.AllocationKey) *Line {
	if ctx.Err() != nil {
		return nil
	}
	leaves := map[api.ApplicationID]api.QueuePath{}
	l := &Line{}
	for _, app := range q.View.Applications {
		leaves[app.ID] = app.Queue
		if l.Of += len(app.Asks); app.Queue == queue {
			l.OfQueue += len(app.Asks)
		}
	}
	open := *q.View
	open.Config.Preemption.Disabled = true
	open.Config.Root = unlimited(open.Config.Root)
	open.Root = opened(open.Root)
	p := core.Restore(api.Options{Kinds: q.Kinds, Partition: open.Partition, ReserveDelay: -1}, q.Trial.Now, &open)
	p.Apply(q.Trial.Now, api.AddNode{ID: "room for all", Capacity: roomForAll(q.View)})
	for more := true; more && ctx.Err() == nil; {
		var fx api.Effects
		fx, more = p.Schedule(q.Trial.Now)
		for _, event := range fx {
			placed, ok := event.(api.Placed)
			if !ok {
				continue
			}
			if l.Place++; leaves[placed.Application] == queue {
				l.PlaceInQueue++
			}
			if placed.Key == key {
				return l
			}
		}
	}
	return nil
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
