package core

import "github.com/narwhal-scheduler/narwhal/pkg/resources"

// An account is the limit and the use of one queue. It is charged together
// with every account above it, so that for each kind
//
//	used    = own allocations + the sum of used over the children
//	pending = own asks + the sum of pending over the children
//	used <= max, unless exceeded is set
type account struct {
	parent     *account // nil at the root
	max        resources.Limits
	guaranteed resources.Amounts
	used       resources.Amounts
	pending    resources.Amounts
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

// await books an ask here and on every account above.
func (a *account) await(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.pending.Add(amounts)
	}
}

// forgo takes an ask off the books again.
func (a *account) forgo(amounts resources.Amounts) {
	for ; a != nil; a = a.parent {
		a.pending.Sub(amounts)
	}
}

// hasRoom reports whether this account alone can be charged.
func (a *account) hasRoom(amounts resources.Amounts) bool {
	return a.max.Room(a.used, amounts)
}
