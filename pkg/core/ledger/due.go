package ledger

import "time"

// waitTimes are the moments at which something is to be done about an ask; zero is
// never. The timer of the ask is set to the first of them.
type waitTimes struct {
	Retry     time.Time // it is tried again
	Claim     time.Time // its claim ends, for which nothing is evicted
	Guarantee time.Time // the preemption delay of its queue is over
}

// First is the first of the moments; zero if there is none.
func (w *waitTimes) First() (first time.Time) {
	for _, at := range [...]time.Time{w.Retry, w.Claim, w.Guarantee} {
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
