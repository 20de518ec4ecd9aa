package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An account is the limit and the use of one queue, or of one user or group in a queue that
// limits it. It is charged together with every account above it, so that for each kind
//
//	used      = own allocations, without those that only their nodes are charged for, + the sum of used over the children
//	pending   = own asks + the sum of pending over the children
//	nominated = own asks with quota kept + the sum of nominated over the children
//	kept      = the same, by the importance of the asks
//	releasing = own allocations that are being evicted + that of the children
//	overdue   = those whose eviction did not end in time, or whose end is far off, in the same way
//	used <= max, unless exceeded is set
//
// Applications counts those that count for limits of applications, in the same way. What is
// pending is booked on the accounts of queues only.
type account struct {
	// What a placement reads and writes stands first, as there may be many thousands of accounts:
	// so it is in few lines of the processor's cache.
	parent *account // nil at the root
	max    resources.Limits
	used   resources.Sum
	// changed is a stamp of the last change of what may still be charged here.
	changed uint64
	kept    []keptQuota
	blocked int32 // lines of which nothing is tried before this account changes
	// exceeded says that used may be above max: max was lowered, or an
	// allocation was adopted or resized, which no limit refuses.
	exceeded bool
	freed    bool // recorded, and not reacted to yet

	applications    int
	applicationsMax int // zero is no limit
	subject         *subject
	held            []*request // asks that are bound to a node and wait for this account to change too
	guaranteed      resources.Amounts
	pending         resources.Sum
	nominated       resources.Sum
	releasing       resources.Sum
	overdue         resources.Sum
	hinted          resources.Sum // that the resource manager knows to wait for nodes
}

// isUnder reports whether an account is another one or below it; nil is under none.
func (a *account) isUnder(other *account) bool {
	for ; a != nil; a = a.parent {
		if a == other {
			return true
		}
	}
	return false
}

// charge books an allocation here and on every account above.
func (a *account) charge(amounts resources.Amounts, stamp uint64) {
	for ; a != nil; a = a.parent {
		a.used.Add(amounts)
		a.stamp(stamp)
	}
}

// discharge takes an allocation off the books again.
func (a *account) discharge(amounts resources.Amounts, stamp uint64) {
	for ; a != nil; a = a.parent {
		a.used.Sub(amounts)
		a.exceeded = a.exceeded && !a.used.Within(a.max)
		a.stamp(stamp)
	}
}

// stamp notes when what may be charged has changed, if there is a limit to it.
func (a *account) stamp(stamp uint64) {
	if len(a.max) > 0 {
		a.changed = stamp
	}
}

// allowExcess accepts that used is above max, here and above, after a booking that
// no limit refuses.
func (a *account) allowExcess() {
	for ; a != nil; a = a.parent {
		a.exceeded = !a.used.Within(a.max)
	}
}

// addPending books an ask here and on every account above, and subPending takes it
// off the books again.
func (a *account) addPending(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.pending.Add(amounts)
	}
}

func (a *account) subPending(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.pending.Sub(amounts)
	}
}

// keep keeps quota for an ask, here and above, and unkeep gives it back.
func (a *account) keep(amounts resources.Amounts, importance int32, stamp uint64) {
	for ; a != nil; a = a.parent {
		a.nominated.Add(amounts)
		k := a.keptFor(importance)
		k.amounts.Add(amounts)
		k.asks++
		a.stamp(stamp)
	}
}

func (a *account) unkeep(amounts resources.Amounts, importance int32, stamp uint64) {
	for ; a != nil; a = a.parent {
		a.nominated.Sub(amounts)
		k := a.keptFor(importance)
		k.amounts.Sub(amounts)
		if k.asks--; k.asks == 0 {
			last := len(a.kept) - 1
			*k = a.kept[last]
			a.kept[last] = keptQuota{}
			a.kept = a.kept[:last]
		}
		a.stamp(stamp)
	}
}

// keptFor is what is kept for the asks of an importance, which is made if there is nothing.
func (a *account) keptFor(importance int32) *keptQuota {
	for i := range a.kept {
		if a.kept[i].importance == importance {
			return &a.kept[i]
		}
	}
	a.kept = append(a.kept, keptQuota{importance: importance})
	return &a.kept[len(a.kept)-1]
}

// addEnding notes that an allocation is being evicted, here and above, and subEnding that
// it has ended or is as it was before. Others are ignored.
func (a *account) addEnding(r *request) {
	for ; a != nil && r.eviction != nil && !r.eviction.nodeOnly; a = a.parent {
		a.ending(r).Add(r.Amounts)
	}
}

func (a *account) subEnding(r *request) {
	for ; a != nil && r.eviction != nil && !r.eviction.nodeOnly; a = a.parent {
		a.ending(r).Sub(r.Amounts)
	}
}

// ending is the sum that an allocation counts for which is being evicted.
func (a *account) ending(r *request) *resources.Sum {
	if r.releasing() {
		return &a.releasing
	}
	return &a.overdue
}

// hint notes that the resource manager knows that amounts wait for nodes, here and above, and
// unhint that they do not wait any more.
func (a *account) hint(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.hinted.Add(amounts)
	}
}

func (a *account) unhint(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.hinted.Sub(amounts)
	}
}

// accounts are those that an application is charged to, each with all above it.
func (a *application) accounts() [3]*account {
	return [...]*account{&a.queue.account, a.byUser, a.byGroup}
}

// chargeAccounts books an allocation on the accounts of its application, and dischargeAccounts
// takes it off.
func chargeAccounts(r *request, stamp uint64) {
	for _, account := range r.application.accounts() {
		account.charge(r.Amounts, stamp)
		account.addEnding(r)
	}
	r.application.used.Add(r.Amounts)
}

func dischargeAccounts(r *request, stamp uint64) {
	for _, account := range r.application.accounts() {
		account.discharge(r.Amounts, stamp)
		account.subEnding(r)
	}
	r.application.used.Sub(r.Amounts)
}

// An application counts for limits of applications from its first placement, or from when
// room is being made for one of its asks, until it has nothing left.

// setRan notes that an application has begun to run, or that it has nothing left.
func (l *ledger) setRan(app *application, ran bool) {
	if app.ran != ran {
		app.ran = ran
		l.recount(app)
	}
}

// countKept counts the asks of an application for which quota is kept.
func (l *ledger) countKept(app *application, by int32) {
	app.keeps += by
	l.recount(app)
}

func (l *ledger) recount(app *application) {
	counts := app.ran || app.keeps > 0
	if counts == app.counts {
		return
	}
	app.counts = counts
	by, limited := 1, false
	if !counts {
		by = -1
	}
	l.stamp++
	for _, account := range app.accounts() {
		for ; account != nil; account = account.parent {
			account.applications += by
			if account.applicationsMax > 0 {
				account.changed, limited = l.stamp, true
				if !counts || len(account.held) > 0 { // it lets others run, or those of the application
					l.changes.free(account)
				}
			}
		}
	}
	if limited && counts {
		l.tell(&api.ApplicationHeld{ID: app.id, Queue: app.queue.path})
	}
	l.changes.application(app, 0)
}

// freeLimits records that the limits of an application hold more again.
func (c *changeSet) freeLimits(app *application) {
	c.freeAll(app.byUser)
	c.freeAll(app.byGroup)
}

// freeAll records the same of an account and all above it.
func (c *changeSet) freeAll(a *account) {
	for ; a != nil; a = a.parent {
		c.free(a)
	}
}

// isFull reports whether no other application may run here.
func (a *account) isFull() bool { return a.applicationsMax > 0 && a.applications >= a.applicationsMax }

// free records that an account for which something waits may hold more again.
func (c *changeSet) free(a *account) {
	if !a.freed && a.blocked > 0 || len(a.held) > 0 {
		a.freed = true
		c.freed = append(c.freed, a)
	}
}
