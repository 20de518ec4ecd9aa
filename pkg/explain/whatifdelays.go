package explain

import (
	"context"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// delaysMax is how long delays are waited for at most.
const delaysMax = time.Hour

// wait simulates what a question says, and then the time that it waits. It returns how far it came, and whether that was all.
func (r *dryRun) wait(ctx context.Context, now time.Time, q Question) (reached time.Time, all bool) {
	if !q.Delays {
		return r.simulate(ctx, now, now.Add(q.Within))
	}
	if reached, all = r.simulate(ctx, now, now); !all {
		return reached, false
	}
	ends := slices.DeleteFunc(delays(r.p.View(), now), func(at time.Time) bool { return at.After(now.Add(delaysMax)) })
	if len(ends) == 0 {
		return now, true
	}
	return r.simulate(ctx, now, last(ends))
}

// delays is when the delays end that run at a time and after which something may be evicted: that after a start, those of
// queues that are over their max, and those of asks that wait for what is guaranteed to their queues. Ordered by nothing.
func delays(view *api.View, now time.Time) (ends []time.Time) {
	if view.Config.Preemption.Disabled {
		return nil
	}
	add := func(at time.Time) {
		if at.After(now) {
			ends = append(ends, at)
		}
	}
	add(view.SettlesAt)
	leaves := map[api.QueuePath]*api.QueueView{}
	var look func(q *api.QueueView)
	look = func(q *api.QueueView) {
		leaves[q.Path] = q
		if at, ok := GivesBackAt(view, q); ok {
			add(at)
		}
		for _, child := range q.Queues {
			look(child)
		}
	}
	look(view.Root)
	for _, app := range view.Applications {
		for i := range app.Asks {
			ask, leaf := &app.Asks[i], leaves[app.Queue]
			if leaf == nil || ask.Nominated != "" || ask.NeverPreempts() {
				continue
			}
			at := ask.Created.Add(leaf.Properties.PreemptionDelay)
			if at.After(now) && isOwed(view, ask, app.Queue) {
				add(at)
			}
		}
	}
	return ends
}

// last is the last of some times; zero if there are none.
func last(times []time.Time) (at time.Time) {
	for _, one := range times {
		if one.After(at) {
			at = one
		}
	}
	return at
}

// GivesBackAt is when evictions begin, or began, for that a queue is over its max; false is never.
func GivesBackAt(view *api.View, q *api.QueueView) (time.Time, bool) {
	preemption, delay := view.Config.Preemption, q.Properties.QuotaDelay
	if q.OverMaxSince.IsZero() || delay <= 0 || !preemption.Quota || preemption.Disabled {
		return time.Time{}, false
	}
	return last([]time.Time{q.OverMaxSince.Add(delay), view.SettlesAt}), true
}

// isOwed reports whether an ask of a leaf waits for something that is guaranteed to its queues. That of the root counts for nothing.
func isOwed(view *api.View, ask *api.AskView, leaf api.QueuePath) bool {
	for q := view.Root.Towards(leaf); q != nil; q = q.Towards(leaf) {
		if !owed(q, ask).IsZero() {
			return true
		}
	}
	return false
}
