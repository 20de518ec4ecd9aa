package archive

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

const (
	// arrivalMinutes is for how many minutes arrivals count: the one that runs and those before it.
	arrivalMinutes = 5
	// arrivalsMax is the most pairs of a user and a queue of which arrivals are counted. Asks of
	// further ones count for a user and a queue without a name.
	arrivalsMax = 10_000
)

// Arrivals are the asks of a user in a queue that came in the last five minutes.
type Arrivals struct {
	User   string
	Groups []string // of the user, as the last application had them
	Queue  api.QueuePath
	Asks   int
}

// arrivals counts the asks that come, by user and queue and by minute.
//
//	counts of a minute that is over for arrivalMinutes = 0
//	no pair without a count is kept once its minute is over
type arrivals struct {
	minute int64 // that runs
	by     map[arrivalKey]*arrived
	// unbound is an allocation that could not be bound: it is an ask again, and no new one.
	unbound api.AllocationKey
}

type arrivalKey struct {
	user  string
	queue api.QueuePath
}

type arrived struct {
	groups []string
	counts [arrivalMinutes]int // by minute modulo their number
}

func newArrivals() arrivals { return arrivals{by: map[arrivalKey]*arrived{}} }

// pass lets time go by until a step. Clocks that go back are waited for.
func (a *arrivals) pass(minute int64) {
	if minute <= a.minute {
		return
	}
	for key, one := range a.by {
		for m := max(a.minute+1, minute-arrivalMinutes+1); m <= minute; m++ {
			one.counts[m%arrivalMinutes] = 0
		}
		if one.counts == ([arrivalMinutes]int{}) {
			delete(a.by, key)
		}
	}
	a.minute = minute
}

// count counts an ask that comes.
func (a *arrivals) count(key arrivalKey, groups []string) {
	one := a.by[key]
	if one == nil {
		if len(a.by) >= arrivalsMax {
			key, groups = arrivalKey{}, nil
			one = a.by[key]
		}
		if one == nil {
			one = new(arrived)
			a.by[key] = one
		}
	}
	one.groups = groups
	one.counts[a.minute%arrivalMinutes]++
}

// since is how many came in the last minutes, at another one.
func (a *arrivals) since(one *arrived, minute int64) (n int) {
	for m := max(a.minute, minute) - arrivalMinutes + 1; m <= a.minute; m++ {
		n += one.counts[m%arrivalMinutes]
	}
	return n
}

// arrive counts an ask, unless it is an old one that the resource manager tells of again.
func (b *Book) arrive(ask *api.Allocation) {
	again := ask.Key == b.arrivals.unbound
	b.arrivals.unbound = ""
	if a := b.find(ask.Application); a != nil && !again && b.now.Sub(ask.Created) < arrivalMinutes*time.Minute {
		b.arrivals.count(arrivalKey{a.User, a.Queue}, a.Groups)
	}
}

// Arrivals are the asks that came in the last five minutes, the one that runs included, by user
// and then by queue.
func (b *Book) Arrivals(now time.Time) []Arrivals {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Arrivals
	for key, one := range b.arrivals.by {
		if n := b.arrivals.since(one, minuteOf(now)); n > 0 {
			out = append(out, Arrivals{key.user, one.groups, key.queue, n})
		}
	}
	slices.SortFunc(out, func(a, b Arrivals) int {
		return cmp.Or(strings.Compare(a.User, b.User), cmp.Compare(a.Queue, b.Queue))
	})
	return out
}
