package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

const (
	// window is the time of which what came comes again, in the plays.
	window = time.Hour
	// windowLeast is from how much on something is said of it.
	windowLeast = 30 * time.Second
	// cameMax is how many asks of that time come again: the last of them. The time counts as shorter then, so that no fewer come.
	cameMax = 2_000
	// likeMax is for how many that have ended one that still runs stands.
	likeMax = 8
)

// came is what came in the last time. Some of it has ended since: what still runs stands for that too, by how many like it run as
// long. What never ends, so far as is known, does not come again: services are started once.
type came struct {
	length time.Duration
	asks   []newcomer
	cut    int // asks of the time that do not come again
}

// A newcomer is an ask of the last time.
type newcomer struct {
	*api.Allocation
	of    *api.ApplicationView
	after time.Duration // since the beginning of that time
	times int           // how often it comes in each round
}

// cameLately is what came in the last time, the oldest first.
func cameLately(q Question) *came {
	c := &came{length: window}
	if began := q.Trial.Now.Sub(firstOf(q.View, q.Trial.Now)); began < window {
		c.length = began
	}
	if c.length < windowLeast {
		return &came{}
	}
	from := q.Trial.Now.Add(-c.length)
	add := func(app *api.ApplicationView, a *api.Allocation, ran time.Duration) {
		times := q.Times.Of(app.ID, app.Queue, a.Amounts)
		if len(times) == 0 || !a.Created.After(from) || a.Placeholder || a.TaskGroup != "" || a.Required != "" {
			return
		}
		left := times
		for len(left) > 0 && left[0] <= ran {
			left = left[1:]
		}
		like := likeMax
		if len(left) > 0 {
			like = min(like, (len(times)+len(left)/2)/len(left))
		}
		c.asks = append(c.asks, newcomer{a, app, a.Created.Sub(from), like})
	}
	for _, app := range q.View.Applications {
		for _, a := range app.Allocations {
			add(app, a, q.Trial.Now.Sub(a.Placed))
		}
		for i := range app.Asks {
			add(app, app.Asks[i].Allocation, 0)
		}
	}
	slices.SortStableFunc(c.asks, func(a, b newcomer) int { return a.Created.Compare(b.Created) })
	c.keepLast(q.Trial.Now)
	return c
}

// keepLast keeps the last asks, and the time in which these came.
func (c *came) keepLast(now time.Time) {
	if c.cut = max(len(c.asks)-cameMax, 0); c.cut == 0 {
		return
	}
	c.asks = slices.Clone(c.asks[c.cut:])
	c.length = max(now.Sub(c.asks[0].Created), windowLeast)
	for i := range c.asks {
		c.asks[i].after = max(c.asks[i].Created.Sub(now.Add(-c.length)), 0)
	}
}

// firstOf is when the first of what there is was asked for.
func firstOf(view *api.View, now time.Time) time.Time {
	first := now
	for _, app := range view.Applications {
		if app.Submitted.Before(first) {
			first = app.Submitted
		}
	}
	return first
}

// coming is what comes in one play: what came, again and again, from another moment of it on in each play.
type coming struct {
	*came
	began time.Time
	from  time.Duration
	round int
	index int
}

// again is what comes in a play that begins.
func (c *came) again(now time.Time, n uint64) coming {
	out := coming{came: c, began: now}
	if len(c.asks) > 0 {
		out.from = time.Duration(draw(n, "from") % uint64(c.length))
		out.index, _ = slices.BinarySearchFunc(c.asks, out.from, func(a newcomer, from time.Duration) int { return int(a.after - from) })
	}
	return out
}

// next is when the next ask comes; false if none does.
func (c *coming) next() (time.Time, bool) {
	if len(c.asks) == 0 {
		return time.Time{}, false
	}
	round, index := c.round, c.index
	if index == len(c.asks) {
		round, index = round+1, 0
	}
	return c.began.Add(time.Duration(round)*c.length + c.asks[index].after - c.from), true
}

// take is the next ask, and a name for it that no other has.
func (c *coming) take() (newcomer, string) {
	if c.index == len(c.asks) {
		c.round, c.index = c.round+1, 0
	}
	one := c.asks[c.index]
	c.index++
	return one, fmt.Sprintf("%s%d/%d", comes, c.round, c.index)
}

// comes is how all begins that comes in a play, which the resource manager does not know and is not asked about.
const comes = "comes "

// come lets come what comes now.
func (p *play) come() {
	for {
		at, ok := p.coming.next()
		if !ok || at.After(p.now) {
			return
		}
		one, name := p.coming.take()
		// Those of one application that come together are one application again.
		id := api.ApplicationID(fmt.Sprintf("%s%d %s", comes, p.coming.round, one.Application))
		if p.queues[id] == "" {
			p.queues[id] = one.of.Queue
			p.p.Apply(p.now, api.AddApplication{ID: id, Queue: one.of.Queue, User: one.of.User, Groups: one.of.Groups, Forced: true})
		}
		for i := range one.times {
			ask := *one.Allocation
			ask.Key, ask.Application, ask.Created = api.AllocationKey(fmt.Sprintf("%s %d", name, i)), id, p.now
			ask.Node, ask.Placed, ask.Kept = "", time.Time{}, nil
			p.p.Apply(p.now, api.AddAllocation{Allocation: &ask})
		}
	}
}

// unasked is the same trial in which the resource manager is not asked about what comes.
func unasked(t func(api.AllocationKey, api.NodeID) (bool, error)) func(api.AllocationKey, api.NodeID) (bool, error) {
	if t == nil {
		return nil
	}
	return func(ask api.AllocationKey, node api.NodeID) (bool, error) {
		if strings.HasPrefix(string(ask), comes) {
			return false, nil
		}
		return t(ask, node)
	}
}
