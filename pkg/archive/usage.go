package archive

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The attribute that names the type of a node, and the type without it.
const (
	attributeInstance = "si/instance-type"
	instanceUnknown   = "UNKNOWN"
)

// asked notes an ask, which may be older than its application.
func (b *Book) asked(ask *api.Allocation) {
	if a := b.find(ask.Application); a != nil && ask.Created.Before(a.Submitted) {
		a.Submitted, a.view = ask.Created, nil
	}
}

// placed notes that an allocation runs from now on.
func (b *Book) placed(placed *api.Allocation) {
	b.counts.Containers++
	if len(b.plans.open) > 0 {
		b.plans.placed(b.now, placed.Key, placed.Node)
	}
	a := b.find(placed.Application)
	if a == nil {
		return
	}
	b.accounts.runs(b.now, a, 1, placed.Amounts, nil)
	if !placed.Placeholder {
		a.used.Add(placed.Amounts)
		a.MaxUsed.Raise(a.used.Amounts)
		a.view = nil
	}
	if len(a.pending) > 0 {
		delete(a.pending, placed.Key)
	}
}

// end notes that an allocation runs no more.
func (b *Book) end(e *api.Ended) {
	b.counts.Containers--
	if e.Evicted {
		b.plans.gone(b.now, e.Key)
	}
	began := b.began(e.Allocation)
	delete(b.resized, e.Key)
	a := b.find(e.Application)
	if a == nil {
		return
	}
	a.view = nil
	b.accounts.runs(b.now, a, -1, nil, e.Amounts)
	if !e.Placeholder {
		a.used.Sub(e.Amounts)
	}
	switch {
	case e.Cause == api.CauseBindFailed: // it never ran
		b.arrivals.unbound = e.Key
		b.explain(e.Allocation, "binding failed: "+e.Message)
	case e.Evicted || e.Cause == api.CausePreempted:
		b.use(&a.Preempted, e.Node, e.Amounts, began)
		b.lostWork(e.Allocation, owner{a.Queue, a.User}, e.Placed)
	case e.Placeholder:
		b.use(&a.Placeholders, e.Node, e.Amounts, began)
	default:
		b.use(&a.Used, e.Node, e.Amounts, began)
	}
}

// resize notes other amounts of an allocation that runs. It used the old ones
// until now.
func (b *Book) resize(e *api.Resized) {
	began := b.began(e.Allocation)
	b.resized[e.Key] = b.now.UnixNano()
	a := b.find(e.Application)
	if a == nil {
		return
	}
	a.view = nil
	b.accounts.runs(b.now, a, 0, e.Amounts, e.Before)
	if e.Placeholder {
		b.use(&a.Placeholders, e.Node, e.Before, began)
		return
	}
	b.use(&a.Used, e.Node, e.Before, began)
	a.used.Sub(e.Before)
	a.used.Add(e.Amounts)
	a.MaxUsed.Raise(a.used.Amounts)
}

// began is since when an allocation has had its amounts.
func (b *Book) began(a *api.Allocation) time.Time {
	if at, ok := b.resized[a.Key]; ok {
		return time.Unix(0, at)
	}
	return a.Placed
}

// use adds what amounts on a node came to, from a time until now.
func (b *Book) use(to *[]ResourceUsage, node api.NodeID, amounts resources.Amounts, from time.Time) {
	instance := b.instances[node]
	if instance == "" {
		instance = instanceUnknown
	}
	i, known := slices.BinarySearchFunc(*to, instance, func(u ResourceUsage, instance string) int { return strings.Compare(u.Instance, instance) })
	if !known {
		*to = slices.Insert(*to, i, ResourceUsage{Instance: instance})
	}
	(*to)[i].Amounts.Add(overTime(amounts, b.now.Sub(from)))
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
