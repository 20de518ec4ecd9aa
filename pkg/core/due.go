package core

import "time"

// A due says what becomes due at a time: something about an ask, the eviction of an
// allocation, an application, a queue, or one of the things that a partition does
// from time to time.
type due struct {
	what        dueWhat
	request     *request
	application *application
	queue       *queue
}

type dueWhat uint8

const (
	dueAsk           dueWhat = iota // one of the moments of an ask has come
	dueSlots                        // classes still fit no node: their asks get claims
	dueEviction                     // it should have ended
	dueCompletion                   // an application completes
	dueExcess                       // a queue gives back what it uses beyond its max
	dueRefused                      // refused classes are asked about again on all nodes
	dueFreed                        // they are asked about on freed nodes
	dueQuestions                    // questions go on
	dueUnschedulable                // the resource manager hears of asks that fit no node
	dueAttempts                     // failed attempts are repeated
	dueBound                        // asks bound to a node are tried again, about which questions paused
	dueSettled                      // evictions may begin
	dueGang                         // the placeholders of an application time out
	dueGroups                       // groups are tried again, and members of gangs, that fitted nowhere
	dueHeld                         // a node that was registered drained takes asks that require it
	dueGuard                        // a pause of an ask, an application or a node is over
)

// waitTimes are the moments at which something is to be done about an ask; zero is
// never. The timer of the ask is set to the first of them.
type waitTimes struct {
	retry     time.Time // it is tried again
	claim     time.Time // its claim ends, for which nothing is evicted
	guarantee time.Time // the preemption delay of its queue is over
}

// first is the first of the moments; zero if there is none.
func (w *waitTimes) first() (first time.Time) {
	for _, at := range [...]time.Time{w.retry, w.claim, w.guarantee} {
		first = sooner(first, at)
	}
	return first
}

// sooner is the first of two moments; zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// isDue reports whether a moment has come.
func isDue(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// later is the later of two moments.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
