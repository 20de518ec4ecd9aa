package archive

import (
	"maps"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Lowered is what the max of a queue was of a kind before it was lowered last, and when that was.
type Lowered struct {
	At   time.Time
	From int64 // resources.Unlimited if there was none
}

// LoweredMax are the kinds of which the max of a queue was lowered, as long as it was not raised again to what it was.
type LoweredMax map[resources.Kind]Lowered

// reconfigured notes of which queues the max is lower now. Queues that are not configured any more are forgotten, so that there are as
// many entries as queues at most.
func (l *changeLog) reconfigured(now time.Time, e *api.Reconfigured) {
	before, after := map[api.QueuePath]resources.Limits{}, map[api.QueuePath]resources.Limits{}
	maxes(before, "", &e.Before)
	maxes(after, "", &e.After)
	l.mu.Lock()
	defer l.mu.Unlock()
	lowered := map[api.QueuePath]LoweredMax{}
	for path, is := range after {
		kinds := LoweredMax{}
		for kind, was := range l.lowered[path] {
			if is.Of(kind) < was.From {
				kinds[kind] = was
			}
		}
		was, known := before[path]
		for i := range is {
			if kind := resources.Kind(i); known && is.Of(kind) < was.Of(kind) {
				kinds[kind] = Lowered{At: now, From: was.Of(kind)}
			}
		}
		if len(kinds) > 0 {
			lowered[path] = kinds
		}
	}
	l.lowered = lowered
}

// maxes are the limits of a queue and of all below it.
func maxes(of map[api.QueuePath]resources.Limits, parent api.QueuePath, q *api.QueueConfig) {
	path := parent + api.QueuePath(q.Name)
	of[path] = q.Max
	for i := range q.Queues {
		maxes(of, path+".", &q.Queues[i])
	}
}

// LoweredMax says when the max of a queue was lowered, by kind, as far as that is known.
func (b *Book) LoweredMax(queue api.QueuePath) LoweredMax {
	if b == nil {
		return nil
	}
	b.changes.mu.Lock()
	defer b.changes.mu.Unlock()
	return maps.Clone(b.changes.lowered[queue])
}
