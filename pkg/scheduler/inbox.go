package scheduler

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// ErrInboxFull is wrapped when a request was refused because too much waits for
// a partition. Nothing of the request was taken.
var ErrInboxFull = errors.New("inbox is full")

// errRetired is returned when a partition was removed from the configuration
// while the request was read.
var errRetired = errors.New("partition is removed")

// A message is what waits in an inbox: a core.Command, or one of refusal,
// question, look and retire.
type message any

type (
	// A refusal hands on the answer to an input that was refused at the edge, so
	// that it stays in line with the other answers.
	refusal struct{ effect any }
	// A question reads the partition between two commands.
	question func(*core.Partition)
	// A look is somebody who waits for a view of the partition.
	look chan *picture
	// retire releases all there is and ends the owner.
	retire struct{}
)

// sparesMax is the capacity up to which an emptied slice is used again. A larger
// one is left to the garbage collector, so that a flood is not paid for for ever.
const sparesMax = 1 << 16

// An inbox is what waits for one partition. Senders append under a short lock,
// the owner takes all there is at once.
type inbox struct {
	mu      sync.Mutex
	waiting []message
	looks   []look        // who wait for a view, whatever else waits
	closed  bool          // takes nothing more; what waits is still served
	ended   bool          // the owner ends at once
	wake    chan struct{} // capacity one: something changed
	meter   meter
	since   time.Time // when the first that waits was put in, if that is measured
}

func newInbox(m meter) *inbox { return &inbox{wake: make(chan struct{}, 1), meter: m} }

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// room says whether so many messages more may wait. The lock must be held.
func (b *inbox) room(more, limit int) error {
	switch {
	case b.closed:
		return errRetired
	case len(b.waiting)+more > limit:
		return fmt.Errorf("%w: %d entries wait and %d more exceed the limit of %d", ErrInboxFull, len(b.waiting), more, limit)
	}
	return nil
}

// add appends messages, which belong to the inbox from then on. The lock must be
// held.
func (b *inbox) add(messages []message) {
	if len(b.waiting) == 0 {
		b.since = b.meter.now()
	}
	if len(b.waiting) == 0 && cap(b.waiting) < len(messages) {
		b.waiting = messages
	} else {
		b.waiting = append(b.waiting, messages...)
	}
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

// look has somebody wait for a view, but not for what waits already. It reports whether
// the inbox is still open.
func (b *inbox) look(l look) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.looks = append(b.looks, l)
	b.signal()
	return true
}

// lookers adds those who wait for a view to a list, and forgets them.
func (b *inbox) lookers(to []look) []look {
	b.mu.Lock()
	defer b.mu.Unlock()
	to = append(to, b.looks...)
	clear(b.looks)
	b.looks = b.looks[:0]
	return to
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
	b.closed, b.ended, b.waiting = true, true, nil
	b.signal()
}

// take swaps what waits for an empty slice, made of spare where that is small.
// It says since when the first of it waited, zero if that is not measured, and
// whether the owner is to go on.
func (b *inbox) take(spare []message) (all []message, since time.Time, open bool) {
	clear(spare)
	if cap(spare) > sparesMax {
		spare = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all, b.waiting = b.waiting, spare[:0]
	since, b.since = b.since, time.Time{}
	return all, since, !b.ended
}
