package ledger

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An Account is the limit and the use of one queue, or of one user or group in a queue that
// limits it. It is charged together with every account above it, so that for each kind
//
//	Used      = own allocations, without those that only their nodes are charged for, + the sum of used over the children
//	Pending   = own asks + the sum of pending over the children
//	Nominated = own asks with quota kept + the sum of nominated over the children
//	Kept      = the same, by the importance of the asks
//	Releasing = own allocations that are being evicted + that of the children
//	Overdue   = those whose eviction did not end in time, or whose end is far off, in the same way
//	Used <= Max, unless exceeded is set
//
// Applications counts those that count for limits of applications, in the same way. What is
// pending is booked on the accounts of queues only.
type Account struct {
	// What a placement reads and writes stands first, as there may be many thousands of accounts:
	// so it is in few lines of the processor's cache.
	Parent *Account // nil at the root
	Max    resources.Limits
	Used   resources.Sum
	// Changed is a stamp of the last change of what may still be charged here.
	Changed uint64
	Kept    []keptQuota
	Blocked int32 // lines of which nothing is tried before this account changes
	// exceeded says that used may be above max: max was lowered, or an
	// allocation was adopted or resized, which no limit refuses.
	exceeded bool
	freed    bool // recorded, and not reacted to yet

	Applications    int
	ApplicationsMax int // zero is no limit
	Subject         *subject
	Held            []*Request // asks that are bound to a node and wait for this account to change too
	Guaranteed      resources.Amounts
	Pending         resources.Sum
	Nominated       resources.Sum
	Releasing       resources.Sum
	Overdue         resources.Sum
	Hinted          resources.Sum // that the resource manager knows to wait for nodes
}

// IsUnder reports whether an account is another one or below it; nil is under none.
func (a *Account) IsUnder(other *Account) bool {
	for ; a != nil; a = a.Parent {
		if a == other {
			return true
		}
	}
	return false
}

// charge books an allocation here and on every account above.
func (a *Account) charge(amounts resources.Amounts, stamp uint64) {
	for ; a != nil; a = a.Parent {
		a.Used.Add(amounts)
		a.stamp(stamp)
	}
}

// discharge takes an allocation off the books again.
func (a *Account) discharge(amounts resources.Amounts, stamp uint64) {
	for ; a != nil; a = a.Parent {
		a.Used.Sub(amounts)
		a.exceeded = a.exceeded && !a.Used.Within(a.Max)
		a.stamp(stamp)
	}
}

// stamp notes when what may be charged has changed, if there is a limit to it.
func (a *Account) stamp(stamp uint64) {
	if len(a.Max) > 0 {
		a.Changed = stamp
	}
}

// allowExcess accepts that used is above max, here and above, after a booking that
// no limit refuses.
func (a *Account) allowExcess() {
	for ; a != nil; a = a.Parent {
		a.exceeded = !a.Used.Within(a.Max)
	}
}

// addPending books an ask here and on every account above, and subPending takes it
// off the books again.
func (a *Account) addPending(amounts resources.Amounts) {
	for ; a != nil; a = a.Parent {
		a.Pending.Add(amounts)
	}
}

func (a *Account) subPending(amounts resources.Amounts) {
	for ; a != nil; a = a.Parent {
		a.Pending.Sub(amounts)
	}
}

// keep keeps quota for an ask, here and above, and unkeep gives it back.
func (a *Account) keep(amounts resources.Amounts, importance int32, stamp uint64) {
	for ; a != nil; a = a.Parent {
		a.Nominated.Add(amounts)
		k := a.keptFor(importance)
		k.amounts.Add(amounts)
		k.asks++
		a.stamp(stamp)
	}
}

func (a *Account) unkeep(amounts resources.Amounts, importance int32, stamp uint64) {
	for ; a != nil; a = a.Parent {
		a.Nominated.Sub(amounts)
		k := a.keptFor(importance)
		k.amounts.Sub(amounts)
		if k.asks--; k.asks == 0 {
			last := len(a.Kept) - 1
			*k = a.Kept[last]
			a.Kept[last] = keptQuota{}
			a.Kept = a.Kept[:last]
		}
		a.stamp(stamp)
	}
}

// keptFor is what is kept for the asks of an importance, which is made if there is nothing.
func (a *Account) keptFor(importance int32) *keptQuota {
	for i := range a.Kept {
		if a.Kept[i].importance == importance {
			return &a.Kept[i]
		}
	}
	a.Kept = append(a.Kept, keptQuota{importance: importance})
	return &a.Kept[len(a.Kept)-1]
}

// addEnding notes that an allocation is being evicted, here and above, and subEnding that
// it has ended or is as it was before. Others are ignored.
func (a *Account) addEnding(r *Request) {
	for ; a != nil && r.Eviction != nil && !r.Eviction.NodeOnly; a = a.Parent {
		a.ending(r).Add(r.Amounts)
	}
}

func (a *Account) subEnding(r *Request) {
	for ; a != nil && r.Eviction != nil && !r.Eviction.NodeOnly; a = a.Parent {
		a.ending(r).Sub(r.Amounts)
	}
}

// ending is the sum that an allocation counts for which is being evicted.
func (a *Account) ending(r *Request) *resources.Sum {
	if r.Releasing() {
		return &a.Releasing
	}
	return &a.Overdue
}

// hint notes that the resource manager knows that amounts wait for nodes, here and above, and
// unhint that they do not wait any more.
func (a *Account) hint(amounts resources.Amounts) {
	for ; a != nil; a = a.Parent {
		a.Hinted.Add(amounts)
	}
}

func (a *Account) unhint(amounts resources.Amounts) {
	for ; a != nil; a = a.Parent {
		a.Hinted.Sub(amounts)
	}
}

// Accounts are those that an application is charged to, each with all above it.
func (a *Application) Accounts() [3]*Account {
	return [...]*Account{&a.Queue.Account, a.ByUser, a.ByGroup}
}

// chargeAccounts books an allocation on the accounts of its application, and dischargeAccounts
// takes it off.
func chargeAccounts(r *Request, stamp uint64) {
	for _, account := range r.App.Accounts() {
		account.charge(r.Amounts, stamp)
		account.addEnding(r)
	}
	r.App.Used.Add(r.Amounts)
}

func dischargeAccounts(r *Request, stamp uint64) {
	for _, account := range r.App.Accounts() {
		account.discharge(r.Amounts, stamp)
		account.subEnding(r)
	}
	r.App.Used.Sub(r.Amounts)
}

// An application counts for limits of applications from its first placement, or from when
// room is being made for one of its asks, until it has nothing left.

// SetRan notes that an application has begun to run, or that it has nothing left.
func (l *Ledger) SetRan(app *Application, ran bool) {
	if app.Ran != ran {
		app.Ran = ran
		l.recount(app)
	}
}

// countKept counts the asks of an application for which quota is kept.
func (l *Ledger) countKept(app *Application, by int32) {
	app.keeps += by
	l.recount(app)
}

func (l *Ledger) recount(app *Application) {
	counts := app.Ran || app.keeps > 0
	if counts == app.Counts {
		return
	}
	app.Counts = counts
	by, limited := 1, false
	if !counts {
		by = -1
	}
	l.Stamp++
	for _, account := range app.Accounts() {
		for ; account != nil; account = account.Parent {
			account.Applications += by
			if account.ApplicationsMax > 0 {
				account.Changed, limited = l.Stamp, true
				if !counts || len(account.Held) > 0 { // it lets others run, or those of the application
					l.Changes.Free(account)
				}
			}
		}
	}
	if limited && counts {
		l.Tell(&api.ApplicationHeld{ID: app.ID, Queue: app.Queue.Path})
	}
	l.Changes.Application(app, 0)
}

// freeLimits records that the limits of an application hold more again.
func (c *changeSet) freeLimits(app *Application) {
	c.FreeAll(app.ByUser)
	c.FreeAll(app.ByGroup)
}

// FreeAll records the same of an account and all above it.
func (c *changeSet) FreeAll(a *Account) {
	for ; a != nil; a = a.Parent {
		c.Free(a)
	}
}

// Blocks says of how many lines nothing is tried before this account changes.
func (a *Account) Blocks(lines int) { a.Blocked = int32(lines) }

// HoldUp lists an ask that is bound to a node to be tried again when this account may hold more.
func (a *Account) HoldUp(r *Request) {
	if w := r.Waiting(); w.HeldBy != a {
		w.HeldBy = a
		a.Held = append(a.Held, r)
	}
}

// GoOn notes that an ask waits for no account any more.
func (r *Request) GoOn() {
	if r.Wait != nil {
		r.Wait.HeldBy = nil
	}
}

// LetGo visits the asks that the account held up, and forgets them.
func (a *Account) LetGo(yield func(*Request) bool) {
	for _, r := range a.Held {
		if r.Wait != nil && r.Wait.HeldBy == a {
			r.GoOn()
			yield(r)
		}
	}
	clear(a.Held)
	a.Held = a.Held[:0]
}

// IsFull reports whether no other application may run here.
func (a *Account) IsFull() bool { return a.ApplicationsMax > 0 && a.Applications >= a.ApplicationsMax }

// Free records that an account for which something waits may hold more again.
func (c *changeSet) Free(a *Account) {
	if !a.freed && a.Blocked > 0 || len(a.Held) > 0 {
		a.freed = true
		c.freed = append(c.freed, a)
	}
}
