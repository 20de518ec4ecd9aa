package scheduler

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// ErrInboxFull is wrapped when a request was refused because too much waits for
// a partition, or for the callbacks about it. Nothing of the request was taken.
var ErrInboxFull = errors.New("inbox is full")

// errRetired is returned when a partition was removed, its resource manager registered again or the
// scheduler was stopped while the request was read. No caller sees it.
var errRetired = errors.New("partition is removed")

// A message is what waits in an inbox: an api.Command, a refusal, an *unanswered, a
// *replacement or a retire.
type message any

type (
	// A refusal hands on the answer to an input that was refused by a conversion, so
	// that it stays in line with the other answers.
	refusal struct{ api.Event }
	// retire releases all there is and ends the owner.
	retire struct{}
)

// sparesMax is the capacity up to which an emptied slice is used again. A larger
// one is left to the garbage collector, so that a flood is not paid for for ever.
const sparesMax = 1 << 13

// emptied is a slice that is done with, to be used again. It keeps nothing of what was in
// it; a large one is given up.
func emptied[T any](list []T) []T {
	clear(list)
	if cap(list) > sparesMax {
		return nil
	}
	return list[:0]
}

// An inbox is what waits for one partition. Senders append under a short lock,
// the owner takes all there is at once.
type inbox struct {
	mu       sync.Mutex
	waiting  [][]message   // as they were sent, so that nothing is copied
	count    int           // of the messages in waiting
	taken    atomic.Int64  // messages that the owner took and has not handled yet
	appended uint64        // messages so far
	closed   bool          // takes nothing more; what waits is still served
	ended    bool          // the owner ends at once
	ending   chan struct{} // closed when ended is set
	wake     chan struct{} // capacity one: something changed
	meter    meter
	since    time.Time // when the first that waits was put in, if that is measured
}

func newInbox(m meter) *inbox {
	return &inbox{wake: make(chan struct{}, 1), ending: make(chan struct{}), meter: m}
}

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// room says whether so many messages more may wait. Beyond is what waits elsewhere and
// counts too. Any number may wait if nothing else does. The lock must be held.
func (b *inbox) room(more, beyond, limit int) error {
	waiting := b.count + int(b.taken.Load()) + beyond
	switch {
	case b.closed:
		return errRetired
	case waiting > 0 && waiting+more > limit:
		return fmt.Errorf("%w: %d entries wait and %d more exceed the limit of %d", ErrInboxFull, waiting, more, limit)
	}
	return nil
}

// add appends messages, which belong to the inbox from then on. The lock must be
// held.
func (b *inbox) add(messages []message) {
	if b.count == 0 {
		b.since = b.meter.now()
	}
	b.waiting = append(b.waiting, messages)
	b.count += len(messages)
	b.appended += uint64(len(messages))
	b.signal()
}

// force appends a message whatever the limit. It reports whether the inbox is
// still open.
func (b *inbox) force(m message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.add([]message{m})
	return true
}

// total is how many messages were appended so far.
func (b *inbox) total() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.appended
}

// closeWith appends a last message and takes nothing after it.
func (b *inbox) closeWith(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.add([]message{m})
		b.closed = true
	}
}

// end makes the owner end without a look at what waits.
func (b *inbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		close(b.ending)
	}
	b.closed, b.ended, b.waiting, b.count = true, true, nil, 0
	b.signal()
}

// take swaps what waits for a spare slice, which is empty. It says since when the first
// of it waited, zero if that is not measured, and whether the owner is to go on.
func (b *inbox) take(spare [][]message) (all [][]message, since time.Time, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, b.waiting = b.waiting, spare
	b.taken.Store(int64(b.count))
	b.count = 0
	since, b.since = b.since, time.Time{}
	return all, since, !b.ended
}
