// Package timers keeps what becomes due at a time. Each timer knows its place, so
// that it can be moved and cancelled: there are never more entries than things that
// wait for a time.
//
// A Queue is a heap of package container/heap, whose entries hold their positions. It
// reads no clock; the time is an argument.
package timers

import (
	"cmp"
	"container/heap"
	"time"
)

// A Due is what a timer is for, and a pointer to what it is about, if anything.
type Due struct {
	What What
	Of   any
}

// A Timer is one thing that becomes due, embedded in or held by what it is about.
// The zero value is not set.
type Timer struct {
	at     time.Time
	number uint64
	place  int // in the heap, from one; zero if it is not set
	of     Due
}

// Set reports whether the timer waits.
func (t *Timer) Set() bool { return t.place > 0 }

// At is when the timer becomes due; it means nothing if the timer is not set.
func (t *Timer) At() time.Time { return t.at }

// A Queue is a set of timers. The zero value is empty. It belongs to one goroutine.
type Queue struct {
	heap   sooner
	number uint64
}

// Len is how many timers wait.
func (q *Queue) Len() int { return len(q.heap) }

// Set has a timer become due at a time, instead of the time it was set to before.
// Of is returned when it is. Timers of the same time become due in the order in
// which they were set to it. It takes logarithmic time.
func (q *Queue) Set(t *Timer, at time.Time, of Due) {
	if t.place > 0 && t.at.Equal(at) {
		t.of = of
		return
	}
	q.number++
	t.at, t.number, t.of = at, q.number, of
	if t.place == 0 {
		heap.Push(&q.heap, t)
	} else {
		heap.Fix(&q.heap, t.place-1)
	}
}

// SetBy has a timer become due at a time at the latest.
func (q *Queue) SetBy(t *Timer, at time.Time, of Due) {
	if t.place == 0 || t.at.After(at) {
		q.Set(t, at, of)
	}
}

// Cancel keeps a timer from becoming due. One that is not set stays so.
func (q *Queue) Cancel(t *Timer) {
	if t.place > 0 {
		heap.Remove(&q.heap, t.place-1)
	}
}

// Pop takes the next timer that is due and returns what it is of; false if there
// is none.
func (q *Queue) Pop(now time.Time) (of Due, ok bool) {
	if len(q.heap) == 0 || q.heap[0].at.After(now) {
		return of, false
	}
	first := q.heap[0]
	q.Cancel(first)
	return first.of, true
}

// Next is when the first timer is due; false if there is none.
func (q *Queue) Next() (time.Time, bool) {
	if len(q.heap) == 0 {
		return time.Time{}, false
	}
	return q.heap[0].at, true
}

// sooner is the timers as package container/heap sees them; each is told its place.
type sooner []*Timer

func (s sooner) Len() int { return len(s) }

func (s sooner) Less(i, j int) bool {
	return cmp.Or(s[i].at.Compare(s[j].at), cmp.Compare(s[i].number, s[j].number)) < 0
}

func (s sooner) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i+1, j+1
}

func (s *sooner) Push(t any) {
	*s = append(*s, t.(*Timer))
	(*s)[len(*s)-1].place = len(*s)
}

func (s *sooner) Pop() any {
	last := (*s)[len(*s)-1]
	last.place = 0
	(*s)[len(*s)-1] = nil
	*s = (*s)[:len(*s)-1]
	return last
}

// IsDue reports whether a moment has come; zero never does.
func IsDue(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// Later is the later of two moments.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
