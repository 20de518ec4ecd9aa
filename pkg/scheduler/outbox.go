package scheduler

import (
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
)

// A step is what a partition did at once.
type step struct {
	events.Step
	from         *owner
	recorded     bool          // the recorder gets it, before its messages
	begins, ends bool          // the partition is new, or will do no more
	book         *archive.Book // of the partition; nil without an archive
	unanswered   *unanswered   // nothing was done: an input was refused; nil otherwise
}

// A delivery is one thing that waits for the callback: a message that an event
// leads to, or, of kind stepMessage, a step to be recorded. There are as many as
// placements wait to be told, so it is small.
type delivery struct {
	step *step
	at   int32 // of the event among those of the step
	kind messageKind
}

// what is the api.Event, or the *unanswered; nil for a step.
func (d delivery) what() any {
	switch d.kind {
	case stepMessage:
		return nil
	case unansweredMessage:
		return d.step.unanswered
	default:
		return d.step.Effects[d.at]
	}
}

// An unanswered is an input that was refused and for which the interface has no
// answer. It is logged in line with the answers.
type unanswered struct {
	input       string // what kind of input it is
	allocation  string
	application string
	reason      string
}

// An outbox is what waits to be told to one resource manager. The owners of its
// partitions append and go on; the dispatcher takes all there is at once.
//
// Deliveries are numbered from one in the order in which they are appended.
// delivered is the number of the last one whose callback has returned. Each owner
// counts its own deliveries that are not made yet.
type outbox struct {
	mu        sync.Mutex
	changed   *sync.Cond
	waiting   []delivery
	appended  uint64
	delivered uint64
	closed    bool
	meter     meter
	since     time.Time // when the first that waits was put in, if that is measured
}

func newOutbox(m meter) *outbox {
	x := &outbox{meter: m}
	x.changed = sync.NewCond(&x.mu)
	return x
}

// put appends what a step leads to. It returns the number of the last delivery
// before that.
func (x *outbox) put(s *step) (before uint64) {
	return x.append(s.from, func(to []delivery) []delivery {
		if s.recorded {
			to = append(to, delivery{step: s, kind: stepMessage})
		}
		for at, event := range s.Effects {
			if kind := kindOf(event); kind != noMessage {
				to = append(to, delivery{s, int32(at), kind}) //nolint:gosec // a step is far smaller
			}
		}
		return to
	})
}

// putUnanswered appends an input that was refused without an answer.
func (x *outbox) putUnanswered(from *owner, u *unanswered) {
	x.append(from, func(to []delivery) []delivery {
		return append(to, delivery{step: &step{from: from, unanswered: u}, kind: unansweredMessage})
	})
}

func (x *outbox) append(from *owner, add func([]delivery) []delivery) (before uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before = x.appended
	if x.closed {
		return before
	}
	had := len(x.waiting)
	if had == 0 {
		x.since = x.meter.now()
	}
	x.waiting = add(x.waiting)
	more := len(x.waiting) - had
	x.appended += uint64(more)
	from.undelivered.Add(int64(more))
	x.changed.Broadcast()
	return before
}

// take waits until there is something and swaps it for a spare slice, which is
// empty. It returns false once the outbox is closed.
func (x *outbox) take(spare []delivery) ([]delivery, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.waiting) == 0 && !x.closed {
		x.changed.Wait()
	}
	all := x.waiting
	x.waiting = spare
	if len(all) > 0 {
		x.meter.took(stage.OutboxWait, x.since)
	}
	return all, !x.closed
}

// done counts deliveries as made. It returns false once the outbox is closed.
func (x *outbox) done(made []delivery) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for first := 0; first < len(made); {
		next := first + 1
		for next < len(made) && made[next].step.from == made[first].step.from {
			next++
		}
		made[first].step.from.undelivered.Add(int64(first - next))
		first = next
	}
	x.delivered += uint64(len(made))
	x.changed.Broadcast()
	return !x.closed
}

// progress is the number of the last delivery that has been made.
func (x *outbox) progress() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.delivered
}

// latest is the number of the last delivery there is, made or not.
func (x *outbox) latest() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.appended
}

// await waits until a delivery has been made. It returns false when that will
// not happen any more because the outbox is closed.
func (x *outbox) await(number uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.delivered < number && !x.closed {
		x.changed.Wait()
	}
	return !x.closed
}

// close drops what waits. A callback that is under way, or just about to be,
// still runs; none comes after it.
func (x *outbox) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed, x.waiting = true, nil
	x.changed.Broadcast()
}

// deliver gives what waits to the dispatcher until the outbox is closed.
func (x *outbox) deliver(d *dispatcher) {
	var spare []delivery
	for {
		batch, open := x.take(spare)
		if !open {
			return
		}
		began := d.meter.now()
		for rest := batch; len(rest) > 0; {
			n := d.deliver(rest)
			began = d.meter.lap(stage.Callback, began)
			if !x.done(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
		spare = emptied(batch)
		d.flush()
	}
}
