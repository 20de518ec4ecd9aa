package core

import (
	"cmp"
	"time"
)

// An alarm is something that becomes due although nothing is applied. It says
// what to look at; whether there is still something to do is decided then.
type alarm struct {
	at          time.Time
	number      uint64
	application *application // completes
	request     *request     // reserves, lets go of a reservation, or is tried again
	aside       bool         // the asks refused everywhere are tried again
	hints       bool         // the resource manager hears of asks that fit no node
	hunts       bool         // those hunt again who did in vain
	queue       *queue       // gives back what it uses beyond its max
}

// alarms is a binary heap by time, then by number.
type alarms struct {
	heap   []alarm
	number uint64
}

func (h *alarms) before(i, j int) bool {
	a, b := &h.heap[i], &h.heap[j]
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.number, b.number)) < 0
}

func (h *alarms) add(a alarm) {
	h.number++
	a.number = h.number
	h.heap = append(h.heap, a)
	for i := len(h.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.before(i, up) {
			return
		}
		h.heap[i], h.heap[up] = h.heap[up], h.heap[i]
		i = up
	}
}

// pop takes the next alarm that is due.
func (h *alarms) pop(now time.Time) (alarm, bool) {
	if len(h.heap) == 0 || h.heap[0].at.After(now) {
		return alarm{}, false
	}
	first, last := h.heap[0], len(h.heap)-1
	h.heap[0], h.heap[last] = h.heap[last], alarm{}
	h.heap = h.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first, true
		}
		h.heap[i], h.heap[least] = h.heap[least], h.heap[i]
		i = least
	}
}

// next is when the first alarm is due.
func (h *alarms) next() (time.Time, bool) {
	if len(h.heap) == 0 {
		return time.Time{}, false
	}
	return h.heap[0].at, true
}
