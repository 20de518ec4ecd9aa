package core

import "github.com/narwhal-scheduler/narwhal/pkg/resources"

// An account is the limit and the use of one queue. It is charged together
// with every account above it, so that for each kind
//
//	used      = own allocations + the sum of used over the children
//	pending   = own asks + the sum of pending over the children
//	nominated = own nominated asks + the sum of nominated over the children
//	releasing = own allocations that are being evicted + that of the children
//	used <= max, unless exceeded is set
type account struct {
	parent     *account // nil at the root
	max        resources.Limits
	guaranteed resources.Amounts
	used       resources.Amounts
	pending    resources.Amounts
	nominated  resources.Amounts
	releasing  resources.Amounts
	// exceeded says that used may be above max: max was lowered, or an
	// allocation was adopted or resized, which no limit refuses.
	exceeded bool
	// changed is a stamp of the last change of what may still be charged here.
	changed uint64
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

// addNominated keeps quota for a nominated ask, here and above, and subNominated
// gives it back.
func (a *account) addNominated(amounts resources.Amounts, stamp uint64) {
	for ; a != nil; a = a.parent {
		a.nominated.Add(amounts)
		a.stamp(stamp)
	}
}

func (a *account) subNominated(amounts resources.Amounts, stamp uint64) {
	for ; a != nil; a = a.parent {
		a.nominated.Sub(amounts)
		a.stamp(stamp)
	}
}

// addReleasing notes that an allocation is being evicted, here and above, and
// subReleasing that it has ended or is not counted on any more.
func (a *account) addReleasing(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.releasing.Add(amounts)
	}
}

func (a *account) subReleasing(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.releasing.Sub(amounts)
	}
}

// hasRoom reports whether this account alone can be charged, beside what is kept
// for nominated asks.
func (a *account) hasRoom(amounts resources.Amounts) bool {
	return a.max.Holds(amounts, a.used, a.nominated, amounts)
}

// keepsRoom reports the same for amounts that are part of what is kept.
func (a *account) keepsRoom(amounts resources.Amounts) bool {
	return a.max.Holds(amounts, a.used, a.nominated)
}
