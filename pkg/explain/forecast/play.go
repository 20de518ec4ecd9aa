package forecast

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// errOver is that the time for a play is over.
var errOver = errors.New("the time is over")

const (
	// stepsMax is how many moments one play has at most, and ahead how far it goes.
	stepsMax = 20_000
	ahead    = 12 * time.Hour
)

// A play is one way in which things may come.
type play struct {
	q       Question
	n       uint64
	p       *core.Partition
	now     time.Time
	queues  map[api.ApplicationID]api.QueuePath
	ends    ends
	coming  coming
	running int // allocations, at the beginning
	unknown int // of which it is not known how long they will
	steps   int
}

// An end is when an allocation ends.
type end struct {
	at          time.Time
	key         api.AllocationKey
	application api.ApplicationID
}

// ends are the next first; those at the same time by key.
type ends []end

func (h ends) Len() int { return len(h) }
func (h ends) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].key < h[j].key
}
func (h ends) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)   { *h = append(*h, x.(end)) }
func (h *ends) Pop() any {
	last := len(*h) - 1
	one := (*h)[last]
	*h = (*h)[:last]
	return one
}

// newPlay begins a play in which the same comes as came. The number decides about all that is drawn.
func newPlay(q Question, came *came, n uint64) *play {
	p := &play{q: q, n: n, now: q.Trial.Now, queues: map[api.ApplicationID]api.QueuePath{}}
	p.coming = came.again(p.now, n)
	p.p = q.Trial.Copy(q.View, q.Kinds, nil)
	ending := map[api.AllocationKey]bool{}
	for _, node := range q.View.Nodes {
		for i := range node.Evictions {
			ending[node.Evictions[i].Key] = !node.Evictions[i].Overdue
		}
	}
	for _, app := range q.View.Applications {
		p.queues[app.ID] = app.Queue
		for _, a := range app.Allocations {
			p.running++
			if ending[a.Key] {
				heap.Push(&p.ends, end{at: p.now, key: a.Key, application: app.ID})
			} else if !p.runs(a) {
				p.unknown++
			}
		}
	}
	return p
}

// runs draws when an allocation ends that runs: after one of the times of others that are longer than it has run so far. It is
// false if there is none.
func (p *play) runs(a *api.Allocation) bool {
	times, age := p.q.Times.Of(a.Application, p.queues[a.Application], a.Amounts), p.now.Sub(a.Placed)
	for len(times) > 0 && times[0] <= age {
		times = times[1:]
	}
	if len(times) == 0 {
		return false
	}
	heap.Push(&p.ends, end{at: p.now.Add(times[draw(p.n, a.Key)%uint64(len(times))] - age), key: a.Key, application: a.Application})
	return true
}

// draw is a number by chance, the same for the same play and allocation.
func draw(n uint64, key api.AllocationKey) uint64 {
	h := xxhash.New()
	_, _ = fmt.Fprintf(h, "%d %s", n, key) // a hash takes everything
	return h.Sum64()
}

// until plays until an ask runs, and returns after what time. The error is errOver, or says why it would still wait when all
// has ended of which it is known when.
func (p *play) until(ctx context.Context, key api.AllocationKey) (time.Duration, error) {
	for {
		if placed, err := p.schedule(ctx, key); placed || err != nil {
			return p.now.Sub(p.q.Trial.Now), err
		}
		if len(p.ends) == 0 || p.now.Sub(p.q.Trial.Now) > ahead {
			return 0, p.remains(key)
		}
		p.steps++
		next := p.ends[0].at
		if at, ok := p.coming.next(); ok && at.Before(next) {
			next = at
		}
		if due, ok := p.p.Due(); ok && due.Before(next) {
			p.now = due
			continue
		}
		p.now = next
		p.come()
		for len(p.ends) > 0 && !p.ends[0].at.After(p.now) {
			one := heap.Pop(&p.ends).(end)
			p.p.Apply(p.now, api.ReleaseAllocation{Application: one.application, Key: one.key})
		}
	}
}

// schedule lets the partition place what it can.
func (p *play) schedule(ctx context.Context, key api.AllocationKey) (placed bool, err error) {
	for more := true; more; {
		if ctx.Err() != nil || p.steps > stepsMax {
			return false, errOver
		}
		var fx api.Effects
		fx, more = p.p.Schedule(p.now)
		for _, event := range fx {
			e, ok := event.(api.Placed)
			if !ok {
				continue
			}
			if e.Key == key {
				return true, nil
			}
			p.runs(e.Allocation)
		}
	}
	return false, nil
}

// remains says why an ask would still wait.
func (p *play) remains(key api.AllocationKey) error {
	for _, app := range p.p.View().Applications {
		for i := range app.Asks {
			if ask := &app.Asks[i]; ask.Key == key {
				text := ask.Reason.String()
				if detail := explain.Detail(ask.Waiting, p.q.Kinds); detail != "" {
					text += ": " + detail
				}
				return fmt.Errorf("it still waits when all others have ended, after %s: %s", wording.Age(p.now.Sub(p.q.Trial.Now)), text)
			}
		}
	}
	return errors.New("it would not wait any more")
}
