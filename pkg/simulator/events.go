package simulator

import (
	"container/heap"
	"time"
)

// An event is something that happens at a virtual time.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

// An eventQueue holds the events to come, ordered by time and then by the order in
// which they were planned, so that the order of events at one time is determined.
type eventQueue struct {
	heap eventHeap
	seq  uint64
}

// plan adds an event.
func (a *eventQueue) plan(at time.Duration, do func()) {
	a.seq++
	heap.Push(&a.heap, event{at: at, seq: a.seq, do: do})
}

// next is the time of the earliest event; false when nothing is planned.
func (a *eventQueue) next() (time.Duration, bool) {
	if len(a.heap) == 0 {
		return 0, false
	}
	return a.heap[0].at, true
}

// take removes the events of one moment that are planned now. What these plan
// for the same moment is left for the next call, so that the partition gets to
// schedule in between.
func (a *eventQueue) take(at time.Duration) []event {
	var due []event
	for len(a.heap) > 0 && a.heap[0].at <= at {
		due = append(due, heap.Pop(&a.heap).(event))
	}
	return due
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}

func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return last
}
