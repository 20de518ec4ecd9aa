package core

import "github.com/narwhal-scheduler/narwhal/pkg/resources"

// An account is the limit and the use of one queue. It is charged together
// with every account above it, so that for each kind
//
//	used     = own allocations + the sum of used over the children
//	pending  = own asks + the sum of pending over the children
//	promised = own nominated asks + the sum of promised over the children
//	leaving  = own allocations that were told to go + that of the children
//	used <= max, unless exceeded is set
type account struct {
	parent     *account // nil at the root
	max        resources.Limits
	guaranteed resources.Amounts
	used       resources.Amounts
	pending    resources.Amounts
	promised   resources.Amounts
	leaving    resources.Amounts
	// exceeded says that used may be above max: max was lowered, or an
	// allocation was adopted or resized, which no limit refuses.
	exceeded bool
}

// charge books an allocation here and on every account above.
func (a *account) charge(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.used.Add(amounts)
	}
}

// discharge takes an allocation off the books again.
func (a *account) discharge(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.used.Sub(amounts)
		a.exceeded = a.exceeded && !a.used.Within(a.max)
	}
}

// tolerate accepts that used is above max, here and above, after a booking that
// no limit refuses.
func (a *account) tolerate() {
	for ; a != nil; a = a.parent {
		a.exceeded = !a.used.Within(a.max)
	}
}

// upwards visits this account and every account above.
func (a *account) upwards(yield func(*account) bool) {
	for a != nil && yield(a) {
		a = a.parent
	}
}

// await books an ask here and on every account above, and forgo takes it off
// the books again.
func (a *account) await(amounts resources.Amounts) {
	for each := range a.upwards {
		each.pending.Add(amounts)
	}
}

func (a *account) forgo(amounts resources.Amounts) {
	for each := range a.upwards {
		each.pending.Sub(amounts)
	}
}

// promise keeps quota for a nominated ask, here and above, and unpromise gives
// it back.
func (a *account) promise(amounts resources.Amounts) {
	for each := range a.upwards {
		each.promised.Add(amounts)
	}
}

func (a *account) unpromise(amounts resources.Amounts) {
	for each := range a.upwards {
		each.promised.Sub(amounts)
	}
}

// leave notes that an allocation was told to go, here and above, and left that
// it has gone or is not counted on any more.
func (a *account) leave(amounts resources.Amounts) {
	for each := range a.upwards {
		each.leaving.Add(amounts)
	}
}

func (a *account) left(amounts resources.Amounts) {
	for each := range a.upwards {
		each.leaving.Sub(amounts)
	}
}

// hasRoom reports whether this account alone can be charged, beside what is
// promised.
func (a *account) hasRoom(amounts resources.Amounts) bool {
	return a.max.Holds(amounts, a.used, a.promised, amounts)
}

// keepsRoom reports the same for amounts that are part of what is promised.
func (a *account) keepsRoom(amounts resources.Amounts) bool {
	return a.max.Holds(amounts, a.used, a.promised)
}
