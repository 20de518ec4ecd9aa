// Package timers keeps what becomes due at a time. Each timer knows its place, so
// that it can be moved and cancelled: there are never more entries than things that
// wait for a time.
//
// A Queue is a binary heap whose entries hold their positions. It reads no clock;
// the time is an argument.
package timers

import (
	"cmp"
	"time"
)

// A Timer is one thing that becomes due, embedded in or held by what it is about.
// The zero value is not set.
type Timer[T any] struct {
	at     time.Time
	number uint64
	place  int // in the heap, from one; zero if it is not set
	of     T
}

// Set reports whether the timer waits.
func (t *Timer[T]) Set() bool { return t.place > 0 }

// At is when the timer becomes due; it means nothing if the timer is not set.
func (t *Timer[T]) At() time.Time { return t.at }

// A Queue is a set of timers. The zero value is empty. It belongs to one goroutine.
type Queue[T any] struct {
	heap   []*Timer[T]
	number uint64
}

// Len is how many timers wait.
func (q *Queue[T]) Len() int { return len(q.heap) }

// Set has a timer become due at a time, instead of the time it was set to before.
// Of is returned when it is. Timers of the same time become due in the order in
// which they were set to it. It takes logarithmic time.
func (q *Queue[T]) Set(t *Timer[T], at time.Time, of T) {
	if t.place > 0 && t.at.Equal(at) {
		t.of = of
		return
	}
	q.number++
	t.at, t.number, t.of = at, q.number, of
	if t.place == 0 {
		q.heap = append(q.heap, t)
		t.place = len(q.heap)
	}
	q.down(q.up(t.place - 1))
}

// SetBy has a timer become due at a time at the latest.
func (q *Queue[T]) SetBy(t *Timer[T], at time.Time, of T) {
	if t.place == 0 || t.at.After(at) {
		q.Set(t, at, of)
	}
}

// Cancel keeps a timer from becoming due. One that is not set stays so.
func (q *Queue[T]) Cancel(t *Timer[T]) {
	if t.place == 0 {
		return
	}
	i, last := t.place-1, len(q.heap)-1
	q.swap(i, last)
	q.heap[last] = nil
	q.heap = q.heap[:last]
	t.place = 0
	if i < last {
		q.down(q.up(i))
	}
}

// Pop takes the next timer that is due and returns what it is of; false if there
// is none.
func (q *Queue[T]) Pop(now time.Time) (of T, ok bool) {
	if len(q.heap) == 0 || q.heap[0].at.After(now) {
		return of, false
	}
	first := q.heap[0]
	q.Cancel(first)
	return first.of, true
}

// Next is when the first timer is due; false if there is none.
func (q *Queue[T]) Next() (time.Time, bool) {
	if len(q.heap) == 0 {
		return time.Time{}, false
	}
	return q.heap[0].at, true
}

func (q *Queue[T]) before(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.number, b.number)) < 0
}

func (q *Queue[T]) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.heap[i].place, q.heap[j].place = i+1, j+1
}

func (q *Queue[T]) up(i int) int {
	for i > 0 && q.before(i, (i-1)/2) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (q *Queue[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.heap); child++ {
			if q.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.swap(i, least)
		i = least
	}
}
