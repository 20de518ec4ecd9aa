package archive

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

const (
	// runsMax is of how many allocations that ended last the run times are kept, of an application and of a queue.
	runsMax = 64
	// runQueuesMax is of how many queues. It is far more than a partition has at once.
	runQueuesMax = 10_000
)

// RunTimes are how long allocations ran that ended by themselves, by application that goes on and by queue, the shortest
// first. Those that were evicted count for nothing.
type RunTimes struct {
	Applications map[api.ApplicationID][]time.Duration
	Queues       map[api.QueuePath][]time.Duration
}

// runs are the last run times, in a ring.
type runs struct {
	times []time.Duration
	next  int
}

func (r *runs) add(d time.Duration) {
	if len(r.times) < runsMax {
		r.times = append(r.times, d)
		return
	}
	r.times[r.next] = d
	r.next = (r.next + 1) % runsMax
}

// ran notes how long an allocation ran that ended by itself.
func (b *Book) ran(e *api.Ended) {
	a := b.find(e.Application)
	if a == nil || e.Evicted || e.Placeholder || e.Cause != api.CauseReleased || e.Placed.IsZero() || b.now.Before(e.Placed) {
		return
	}
	d := b.now.Sub(e.Placed)
	a.runs.add(d)
	of := b.runs[a.Queue]
	if of == nil {
		if len(b.runs) == runQueuesMax {
			return
		}
		of = new(runs)
		b.runs[a.Queue] = of
	}
	of.add(d)
}

// RunTimes are those that are known.
func (b *Book) RunTimes() RunTimes {
	out := RunTimes{map[api.ApplicationID][]time.Duration{}, map[api.QueuePath][]time.Duration{}}
	if b == nil {
		return out
	}
	b.mu.Lock()
	for id, a := range b.applications {
		if len(a.runs.times) > 0 {
			out.Applications[id] = slices.Clone(a.runs.times)
		}
	}
	for queue, of := range b.runs {
		out.Queues[queue] = slices.Clone(of.times)
	}
	b.mu.Unlock()
	for _, times := range out.Applications {
		slices.Sort(times)
	}
	for _, times := range out.Queues {
		slices.Sort(times)
	}
	return out
}

// PreemptedSince is how many allocations of a queue were chosen as victims from a time on, by the plans that are kept.
func (b *Book) PreemptedSince(queue api.QueuePath, since time.Time) (n int) {
	for _, p := range b.Plans() {
		if p.At.Before(since) {
			break
		}
		for i := range p.Victims {
			if p.Victims[i].Queue == queue {
				n++
			}
		}
	}
	return n
}
