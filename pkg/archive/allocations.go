package archive

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The attribute that names the type of a node, and what it is without.
const (
	attributeInstance = "si/instance-type"
	instanceUnknown   = "UNKNOWN"
)

// A run is an allocation that runs. There may be a hundred thousand of them, and
// one is written for each placement, so it is small.
type run struct {
	life        *life
	amounts     resources.Amounts // shared
	node        core.NodeID
	since       int64 // nanoseconds
	placeholder bool
	victim      bool // was told to go
}

// life finds a life; nil if there is none. Placements come one after the other for
// the same application.
func (b *Book) life(id core.ApplicationID) *life {
	if b.last == nil || b.last.ID != id {
		b.last = b.lives[id]
	}
	return b.last
}

// placed notes that an ask runs, or that one does that was adopted.
func (b *Book) placed(e *si.Allocation) {
	l := b.life(core.ApplicationID(e.ApplicationID))
	if l == nil {
		return
	}
	key, amounts := core.AllocationKey(e.AllocationKey), b.lately.of(b.kinds, e.ResourcePerAlloc)
	b.running[key] = run{life: l, amounts: amounts, node: core.NodeID(e.NodeID), since: b.now.UnixNano(), placeholder: e.Placeholder}
	l.running++
	if !e.Placeholder {
		l.used.Add(amounts)
		l.MaxUsed.Raise(l.used)
	}
	l.view = nil
	b.counts.Containers++
	if len(l.waits) > 0 {
		delete(l.waits, key)
	}
	if len(b.plans.open) > 0 {
		b.plans.placed(b.now, key, core.NodeID(e.NodeID))
	}
}

// stopped notes that an allocation runs no more, if it did.
func (b *Book) stopped(key core.AllocationKey, why si.TerminationType) {
	r, ok := b.running[key]
	if !ok {
		return
	}
	delete(b.running, key)
	r.life.running--
	if !r.placeholder {
		r.life.used.Sub(r.amounts)
	}
	r.life.view = nil
	b.counts.Containers--
	if r.victim {
		b.plans.gone(b.now, key)
	}
	switch {
	case why == core.SchedulingFailed: // it never ran
	case r.victim || why == si.TerminationType_PREEMPTED_BY_SCHEDULER:
		b.spend(&r.life.Preempted, &r)
	case r.placeholder:
		b.spend(&r.life.Placeholders, &r)
	default:
		b.spend(&r.life.Used, &r)
	}
}

// spend adds what an allocation used until now.
func (b *Book) spend(on *[]ResourceUsage, r *run) {
	instance := b.instances[r.node]
	if instance == "" {
		instance = instanceUnknown
	}
	i, known := slices.BinarySearchFunc(*on, instance, func(s ResourceUsage, instance string) int { return strings.Compare(s.Instance, instance) })
	if !known {
		*on = slices.Insert(*on, i, ResourceUsage{Instance: instance})
	}
	(*on)[i].Amounts.Add(overTime(r.amounts, b.now.Sub(time.Unix(0, r.since))))
}

// overTime is amounts times seconds, rounded down.
func overTime(a resources.Amounts, d time.Duration) resources.Amounts {
	out := make(resources.Amounts, len(a))
	for i, quantity := range a {
		high, low := bits.Mul64(uint64(max(quantity, 0)), uint64(max(d, 0)))
		if high >= uint64(time.Second) {
			out[i] = math.MaxInt64
			continue
		}
		seconds, _ := bits.Div64(high, low, uint64(time.Second))
		out[i] = int64(min(seconds, math.MaxInt64))
	}
	return out
}

// released notes what a release takes away. The core says nothing of some of that.
func (b *Book) released(c core.ReleaseAllocation) {
	switch {
	case c.Key == "":
		b.releasedAll(c)
	case c.Application == "":
		b.plans.moved(b.now, c.Key, "")
	default:
		r, runs := b.running[c.Key]
		switch {
		case !runs && c.Termination != core.SchedulingFailed:
			b.withdrawn(c.Application, c.Key)
		case runs && r.life.ID == c.Application:
			b.stopped(c.Key, c.Termination)
			if c.Termination == core.SchedulingFailed {
				b.waits(c.Application, c.Key, "binding failed: "+c.Message)
			}
		}
	}
}

// releasedAll notes that an application has lost all allocations and, but for a
// timeout of its placeholders, all asks. Allocations are looked for only where the
// core does not name them.
func (b *Book) releasedAll(c core.ReleaseAllocation) {
	l := b.lives[c.Application]
	if l == nil {
		return
	}
	switch c.Termination {
	case si.TerminationType_TIMEOUT, si.TerminationType_PREEMPTED_BY_SCHEDULER, si.TerminationType_PLACEHOLDER_REPLACED:
		if l.running > 0 {
			b.stoppedAll(l, c.Termination)
		}
	}
	if c.Termination != si.TerminationType_TIMEOUT {
		l.waits = nil
		b.plans.withdraw(b.now, l.ID, "the ask was released")
	}
}

func (b *Book) stoppedAll(l *life, why si.TerminationType) {
	for key, r := range b.running {
		if r.life == l {
			b.stopped(key, why)
		}
	}
}

// withdrawn notes that an ask waits no more.
func (b *Book) withdrawn(id core.ApplicationID, key core.AllocationKey) {
	l := b.lives[id]
	if l == nil {
		return
	}
	delete(l.waits, key)
	if p := b.plans.open[key]; p != nil && p.Application == id {
		b.plans.close(b.now, key, Withdrawn, "the ask was released")
	}
}

// added notes other amounts of an allocation that runs, asks that are older than
// their application, and where foreign allocations are.
func (b *Book) added(a *core.Allocation) {
	if a.IsForeign() {
		b.plans.moved(b.now, a.Key, a.Node)
		return
	}
	if l := b.life(a.Application); l != nil && a.Created.Before(l.Submitted) {
		l.Submitted, l.view = a.Created, nil
	}
	r, ok := b.running[a.Key]
	if !ok || r.life.ID != a.Application || r.amounts.Equal(a.Amounts) {
		return
	}
	if r.placeholder {
		b.spend(&r.life.Placeholders, &r)
	} else {
		b.spend(&r.life.Used, &r)
		r.life.used.Sub(r.amounts)
		r.life.used.Add(a.Amounts)
		r.life.MaxUsed.Raise(r.life.used)
	}
	r.life.view = nil
	r.amounts, r.since = a.Amounts, b.now.UnixNano()
	b.running[a.Key] = r
}

// lately remembers the amounts of the last messages. Asks that are alike share
// one, and come one after the other.
type lately struct {
	messages [8]*si.Resource
	amounts  [8]resources.Amounts
	next     int
}

func (s *lately) of(kinds *resources.Kinds, message *si.Resource) resources.Amounts {
	for i, known := range s.messages {
		if known == message {
			return s.amounts[i]
		}
	}
	amounts, _ := core.AmountsOf(kinds, message) // the core wrote it: it has no unknown kinds
	s.messages[s.next], s.amounts[s.next] = message, amounts
	s.next = (s.next + 1) % len(s.messages)
	return amounts
}
