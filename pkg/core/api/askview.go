package api

import (
	"cmp"
	"slices"
)

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

// Ask is the application with an ID and its ask with a key; nil where there is none. It takes time linear in the asks of the application.
func (v *View) Ask(id ApplicationID, key AllocationKey) (*ApplicationView, *AskView) {
	app := v.Application(id)
	if app == nil {
		return nil, nil
	}
	return app, app.Ask(key)
}

// Ask is the ask with a key; nil if none waits.
func (a *ApplicationView) Ask(key AllocationKey) *AskView {
	i := slices.IndexFunc(a.Asks, func(ask AskView) bool { return ask.Key == key })
	if i < 0 {
		return nil
	}
	return &a.Asks[i]
}
