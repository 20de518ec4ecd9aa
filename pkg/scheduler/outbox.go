package scheduler

import (
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
)

// A delivery is one effect on its way to the callback.
type delivery struct {
	effect any
	from   string // the partition
}

// An outbox is what waits to be told to one resource manager. The owners of its
// partitions append and go on; the courier takes all there is at once.
//
// Deliveries are numbered from one in the order in which they are appended.
// delivered is the number of the last one whose callback has returned.
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

// put appends effects of a partition and returns the number of the last one.
func (x *outbox) put(from string, effects ...any) uint64 { return x.putAfter(nil, from, effects) }

// putAfter is put after something else from the same partition, unless that is
// nil.
func (x *outbox) putAfter(head any, from string, effects []any) uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return x.appended
	}
	if len(x.waiting) == 0 {
		x.since = x.meter.now()
	}
	if head != nil {
		x.waiting = append(x.waiting, delivery{head, from})
		x.appended++
	}
	for _, effect := range effects {
		x.waiting = append(x.waiting, delivery{effect, from})
	}
	x.appended += uint64(len(effects))
	x.changed.Broadcast()
	return x.appended
}

// take waits until there is something and swaps it for an empty slice, made of
// spare where that is small. It returns false once the outbox is closed.
func (x *outbox) take(spare []delivery) ([]delivery, bool) {
	clear(spare)
	if cap(spare) > sparesMax {
		spare = nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.waiting) == 0 && !x.closed {
		x.changed.Wait()
	}
	all := x.waiting
	x.waiting = spare[:0]
	if len(all) > 0 {
		x.meter.took(metrics.OutboxWait, x.since)
	}
	return all, !x.closed
}

// done counts the next n deliveries as delivered. It returns false once the
// outbox is closed.
func (x *outbox) done(n int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.delivered += uint64(n)
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

// deliver gives effects to the courier until the outbox is closed.
func (x *outbox) deliver(c *courier) {
	var batch []delivery
	for {
		var open bool
		if batch, open = x.take(batch); !open {
			return
		}
		for rest := batch; len(rest) > 0; {
			n := c.deliver(rest)
			if !x.done(n) {
				return
			}
			rest = rest[n:]
		}
		c.flush()
	}
}
