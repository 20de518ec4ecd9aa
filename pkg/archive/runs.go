package archive

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

const (
	// runsMax is of how many allocations that ended last the run times are kept, of an application and of those of equal amounts
	// in a queue.
	runsMax = 64
	// alikeMax is of how many different amounts in one queue, those that ended last.
	alikeMax = 16
	// runQueuesMax is of how many queues. It is far more than a partition has at once.
	runQueuesMax = 10_000
	// runsMin is from how many run times on something is said of those that run now.
	runsMin = 5
)

// RunTimes are how long allocations ran that ended by themselves, by application that goes on and by queue, the shortest
// first. Those that were evicted count for nothing.
type RunTimes struct {
	Applications map[api.ApplicationID][]time.Duration
	Queues       map[api.QueuePath][]AlikeTimes // the amounts that ended last come last
}

// AlikeTimes are those of allocations of equal amounts.
type AlikeTimes struct {
	Amounts resources.Amounts
	Times   []time.Duration
}

// Of is those that an allocation of a queue is expected to take one of: of its application if enough are known, and else of those of
// equal amounts in the queue. What is larger or smaller is other work, and tells nothing of it.
func (r RunTimes) Of(application api.ApplicationID, queue api.QueuePath, amounts resources.Amounts) []time.Duration {
	if times := r.Applications[application]; len(times) >= runsMin {
		return times
	}
	for _, alike := range r.Queues[queue] {
		if len(alike.Times) >= runsMin && alike.Amounts.Equal(amounts) {
			return alike.Times
		}
	}
	return nil
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

// queueRuns are those of a queue, by amounts, those that ended last at the end.
//
//	len <= alikeMax
type queueRuns []*alikeRuns

type alikeRuns struct {
	amounts resources.Amounts
	runs
}

// of is those of amounts, at the end.
func (q *queueRuns) of(amounts resources.Amounts) *runs {
	list := *q
	i := slices.IndexFunc(list, func(one *alikeRuns) bool { return one.amounts.Equal(amounts) })
	one := &alikeRuns{amounts: amounts}
	switch {
	case i >= 0:
		one = list[i]
		list = slices.Delete(list, i, i+1)
	case len(list) == alikeMax:
		list = slices.Delete(list, 0, 1)
	}
	*q = append(list, one)
	return &one.runs
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
		of = new(queueRuns)
		b.runs[a.Queue] = of
	}
	of.of(e.Amounts).add(d)
}

// RunTimes are those that are known.
func (b *Book) RunTimes() RunTimes {
	out := RunTimes{map[api.ApplicationID][]time.Duration{}, map[api.QueuePath][]AlikeTimes{}}
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
		list := make([]AlikeTimes, len(*of))
		for i, one := range *of {
			list[i] = AlikeTimes{one.amounts, slices.Clone(one.times)}
		}
		out.Queues[queue] = list
	}
	b.mu.Unlock()
	for _, times := range out.Applications {
		slices.Sort(times)
	}
	for _, list := range out.Queues {
		for _, alike := range list {
			slices.Sort(alike.Times)
		}
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
