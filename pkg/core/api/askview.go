package api

import "cmp"

// AskView is a pending ask and why it waits. Asks that wait for the same share the
// reasons.
type AskView struct {
	*Allocation
	*Waiting
	// Number is that of arrival, in one partition. It orders asks of equal priority and age.
	Number uint64
}

// InOrder compares asks of one application by when they are tried: by priority, age and arrival.
func (a *AskView) InOrder(other *AskView) int {
	return cmp.Or(
		cmp.Compare(other.Priority, a.Priority),
		a.Created.Compare(other.Created),
		cmp.Compare(a.Number, other.Number),
		cmp.Compare(a.Key, other.Key),
	)
}
