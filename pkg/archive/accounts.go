package archive

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

const (
	// ownersMax is of how many pairs of a queue and a user, and days, work is told apart. That of further ones is counted
	// together, without a queue and a user of its own.
	ownersMax = 10_000
	// gapMax is the most time that counts between two steps: what is more is a clock that jumped, or a machine that slept.
	gapMax = 10 * time.Minute
)

// OthersUser is the user of work that is not told apart.
const OthersUser = "(others)"

// An Account is the work of a user in a queue on a day of Greenwich. Amounts are times seconds, by kind.
type Account struct {
	Day   string
	Queue api.QueuePath // empty for what other schedulers run
	User  string

	Used      []float64 // what was allocated, also if it was lost later
	Wasted    []float64 // what pods had worked that were preempted
	Preempted []float64 // what pods had worked that were preempted for asks of the user in the queue
	Evicted   int64     // the pods of Wasted
	Evictions int64     // the pods of Preempted
}

type owner struct {
	queue api.QueuePath
	user  string
}

type accountKey struct {
	day string
	owner
}

// held is what runs of an owner. It is counted up to a time.
type held struct {
	owner
	amounts resources.Amounts
	n       int // allocations
	until   time.Time
	gone    bool // it is no longer kept
}

// accounts count work, if they are on. Those that were counted are taken out now and then.
//
//	amounts of an owner = the sum over its allocations that run
type accounts struct {
	on   bool
	held map[owner]*held
	sums map[accountKey]*Account
}

func newAccounts(on bool) accounts {
	return accounts{on, map[owner]*held{}, map[accountKey]*Account{}}
}

// sum is where the work of an owner on a day is counted.
func (c *accounts) sum(day string, of owner) *Account {
	key := accountKey{day, of}
	one := c.sums[key]
	if one == nil && len(c.sums) >= 2*ownersMax { // those of two days
		key.owner = owner{user: OthersUser}
		one = c.sums[key]
	}
	if one == nil {
		one = &Account{Day: day, Queue: key.queue, User: key.user}
		c.sums[key] = one
	}
	return one
}

// of is what runs of the owner of an application.
func (c *accounts) of(a *application) *held {
	if a.held != nil && !a.held.gone {
		return a.held
	}
	who := owner{a.Queue, a.User}
	h := c.held[who]
	if h == nil && len(c.held) >= ownersMax {
		who = owner{user: OthersUser}
		h = c.held[who]
	}
	if h == nil {
		h = &held{owner: who}
		c.held[who] = h
	}
	a.held = h
	return h
}

// runs notes that allocations of an application begin or end to run, or have other amounts.
func (c *accounts) runs(now time.Time, a *application, n int, more, less resources.Amounts) {
	if !c.on {
		return
	}
	h := c.of(a)
	c.count(now, h)
	h.amounts.Add(more)
	h.amounts.Sub(less)
	h.n += n
}

// count counts what an owner has used until now. A clock that goes back is waited for.
func (c *accounts) count(now time.Time, h *held) {
	passed := min(max(now.Sub(h.until), 0), gapMax)
	if h.n == 0 {
		passed = 0
	}
	h.until = now
	midnight := now.UTC().Truncate(24 * time.Hour)
	if before := passed - now.UTC().Sub(midnight); before > 0 {
		addWork(&c.sum(dayOf(midnight.Add(-1)), h.owner).Used, h.amounts, before)
		passed -= before
	}
	if passed > 0 {
		addWork(&c.sum(dayOf(now), h.owner).Used, h.amounts, passed)
	}
}

// lost counts the work of a victim: of its owner, and of the one for which it was preempted unless that is none.
func (c *accounts) lost(now time.Time, of, by owner, amounts resources.Amounts, ran time.Duration) {
	if !c.on {
		return
	}
	one := c.sum(dayOf(now), of)
	one.Evicted++
	addWork(&one.Wasted, amounts, ran)
	if by != (owner{}) {
		one = c.sum(dayOf(now), by)
		one.Evictions++
		addWork(&one.Preempted, amounts, ran)
	}
}

// take takes out what was counted until now, by day, queue and user.
func (c *accounts) take(now time.Time) (out []Account) {
	for who, h := range c.held { // each counts for itself, in any order
		c.count(now, h)
		if h.n == 0 {
			h.gone = true
			delete(c.held, who)
		}
	}
	for _, one := range c.sums {
		out = append(out, *one)
	}
	c.sums = map[accountKey]*Account{}
	slices.SortFunc(out, func(a, b Account) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), cmp.Compare(a.Queue, b.Queue), strings.Compare(a.User, b.User))
	})
	return out
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// addWork adds amounts times seconds.
func addWork(to *[]float64, amounts resources.Amounts, d time.Duration) {
	for len(*to) < len(amounts) {
		*to = append(*to, 0)
	}
	for i, quantity := range amounts {
		(*to)[i] += float64(quantity) * max(d, 0).Seconds()
	}
}

// lostWork counts the work of a victim that has ended. What is evicted for a quota makes room for no one.
func (b *Book) lostWork(victim *api.Allocation, of owner, began time.Time) {
	if !b.accounts.on || began.IsZero() {
		return
	}
	var by owner
	if p := b.plans.victims[victim.Key]; p != nil && p.Key != "" {
		by = owner{p.Queue, p.User}
	}
	b.accounts.lost(b.now, of, by, victim.Amounts, b.now.Sub(began))
}

// TakeAccounts takes out the work that was counted since it was taken last, by day, queue and user; that of partitions
// which have gone since is among it. Without Config.Accounts there is none.
func (a *Archive) TakeAccounts(now time.Time) map[string][]Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.leftOver
	a.leftOver = map[string][]Account{}
	for name, b := range a.books {
		if taken := b.takeAccounts(now); len(taken) > 0 {
			out[name] = append(out[name], taken...)
		}
	}
	return out
}

func (b *Book) takeAccounts(now time.Time) []Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accounts.take(now)
}
