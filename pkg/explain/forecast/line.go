package forecast

import (
	"context"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
)

// lineOf is the place of an ask of a queue; nil if it would not be placed though there is room for all, as it waits for something
// else, or if the time is over.
func lineOf(ctx context.Context, q Question, queue api.QueuePath, key api.AllocationKey) (line *Line) {
	leaves := map[api.ApplicationID]api.QueuePath{}
	l := &Line{}
	for _, app := range q.View.Applications {
		leaves[app.ID] = app.Queue
		if l.Of += len(app.Asks); app.Queue == queue {
			l.OfQueue += len(app.Asks)
		}
	}
	explain.InLine(ctx, q.View, q.Kinds, q.Trial.Now, func(next *api.Allocation) bool {
		if l.Place++; leaves[next.Application] == queue {
			l.PlaceInQueue++
		}
		if next.Key == key {
			line = l
		}
		return line == nil
	})
	return line
}
