package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Wait is what is known of an ask that was tried and not placed.
type Wait struct {
	Reason   api.Reason
	Detail   string
	Claim    *Claim       // nil if nothing is kept for it
	Since    time.Time    // when an ask first had no room on its required node
	Ran      bool         // it ran after victims were told to end for it, and its binding failed
	Guard    *guard.Guard // against making room for it; nil before the first pause
	Delayed  bool         // it is in no order until the time of its retry
	Held     bool         // it is in no order because of its gang or group
	Hinted   bool         // the resource manager was told that it fits on no node
	Pair     *Replacement // the one that it waits for; a placeholder that is to end for an ask has it too
	Bindings int          // that failed, one after the other
	Avoid    api.NodeID   // where binding failed last
	Former   api.NodeID   // where it was nominated before a restart, until that is looked at
	HeldBy   *Account     // that it waits for while it is bound to a node

	Attempts  []api.PreemptionAttempt // the last ones, by trigger
	Plan      *preemptor.Decision     // the last one to make room for it
	PlannedAt time.Time
}

// Waiting is what is known of the ask; it is made if there is nothing yet.
func (r *Request) Waiting() *Wait {
	if r.Wait == nil {
		r.Wait = &Wait{}
	}
	return r.Wait
}

// EndWait forgets what is known of an ask that waits no more, but for what counts if it is one again: the failures
// to bind, that victims ended for it, and how often it paused.
func (r *Request) EndWait() {
	w := r.Wait
	r.Wait = nil
	if w == nil || w.Bindings == 0 && !w.Ran && w.Guard == nil {
		return
	}
	r.Wait = &Wait{Bindings: w.Bindings, Avoid: w.Avoid, Ran: w.Ran}
	if w.Guard != nil {
		r.Wait.Guard = &guard.Guard{Times: w.Guard.Times}
	}
}

// Says notes why the ask waits, for readers.
func (w *Wait) Says(why api.Reason, detail string) { w.Reason, w.Detail = why, detail }

// Plans notes what is done to make room for the ask; nil is nothing.
func (w *Wait) Plans(plan *preemptor.Decision, at time.Time) { w.Plan, w.PlannedAt = plan, at }

// GivesUp notes why the ask waits, and that no room is made for it.
func (w *Wait) GivesUp(why api.Reason, detail string) {
	w.Says(why, detail)
	w.Plan = nil
}

// Tried notes the last attempts to make room for the ask.
func (w *Wait) Tried(attempts []api.PreemptionAttempt) { w.Attempts = attempts }

// LacksRoom notes since when the ask has had no room on its required node, unless that is known.
func (w *Wait) LacksRoom(since time.Time) {
	if w.Since.IsZero() {
		w.Since = since
	}
}

// BindingFailed notes that the ask could not be bound to a node. It is in no order until it is to be tried again.
func (w *Wait) BindingFailed(on api.NodeID, message string) {
	w.Says(api.BindFailed, message)
	w.Avoid, w.Delayed = on, true
	w.Bindings++
}

// EndDelay notes that the ask is to be tried again.
func (w *Wait) EndDelay() { w.Delayed = false }

// OrderAgain is the opposite of HoldBack. It reports whether the ask may stand in an order then.
func (w *Wait) OrderAgain() (ordered bool) {
	if w.Held = false; w.Delayed {
		return false
	}
	w.Says(api.NotTried, "")
	return true
}

// Renominates notes to which node the ask was nominated before a restart, until that was looked at; empty is none.
func (w *Wait) Renominates(to api.NodeID) { w.Former = to }

// Hint notes that the resource manager was told that an ask fits on no node, and unhint that this ask does not
// wait any more.
func (r *Request) Hint() {
	r.Waiting().Hinted = true
	for _, account := range r.App.Accounts() {
		account.hint(r.Amounts)
	}
}

// Unhint is the opposite of Hint.
func (r *Request) Unhint() {
	r.Wait.Hinted = false
	for _, account := range r.App.Accounts() {
		account.unhint(r.Amounts)
	}
}

// IsHinted reports whether the resource manager was told that an ask fits on no node.
func (r *Request) IsHinted() bool { return r.Wait != nil && r.Wait.Hinted }

// RoomMade notes that victims were told to end for an ask, RoomWasted that it ran then and could not be bound, and
// RoomForgotten that neither counts any more.
func (r *Request) RoomMade() { r.MadeRoom = true }

// RoomWasted reports whether room was made for a request that could not be bound. If it requires a node, this is
// remembered.
func (r *Request) RoomWasted() bool {
	wasted := r.MadeRoom
	r.MadeRoom = false
	if wasted && r.Required != "" {
		r.Waiting().Ran = true
	}
	return wasted
}

// RoomForgotten notes that victims that ended for an ask count no more.
func (r *Request) RoomForgotten() { r.MadeRoom, r.Wait.Ran = false, false }

// Paused reports whether no room is made for the ask for a while.
func (w *Wait) Paused() bool { return w != nil && w.Guard != nil && w.Guard.Pauses() }

// Guarded is the guard of the ask; it is made if there is none yet.
func (w *Wait) Guarded() *guard.Guard {
	if w.Guard == nil {
		w.Guard = &guard.Guard{}
	}
	return w.Guard
}

// Nodes, configurations and what runs make resource kinds known. An ask does not: names in
// it may be made up. What it wants of kinds that are not known is booked as
// resources.UnknownKind, which no node has, until a node with such a kind comes.

// HasKind reports whether a node has a kind. It depends on the commands of this
// partition alone, while others make kinds known too.
func (l *Ledger) HasKind(name string) bool {
	kind, ok := l.Kinds.Lookup(name)
	return ok && l.Capacity.Of(kind) > 0
}

// awaitKinds lists an ask by the kinds that it wants and no node has.
func (l *Ledger) awaitKinds(r *Request) {
	for name := range r.Unknown {
		set := l.Unknown[name]
		if set == nil {
			set = &AskSet{}
			l.Unknown[name] = set
		}
		set.Add(r)
	}
}

func (l *Ledger) forgetKinds(r *Request) {
	for name := range r.Unknown {
		if l.Unknown[name].Remove(r) {
			delete(l.Unknown, name)
		}
	}
}

// unknownShown is how many unknown kinds a text names.
const unknownShown = 3

// UnknownKinds are the names of the unknown kinds of an ask, as far as they are shown.
func (r *Request) UnknownKinds() string {
	names := slices.Sorted(maps.Keys(r.Unknown))
	if more := len(names) - unknownShown; more > 0 {
		names = append(names[:unknownShown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// checkKinds says what is wrong about the unknown kinds of an ask that waits.
func (l *Ledger) checkKinds(r *Request) error {
	for name := range r.Unknown {
		if set := l.Unknown[name]; set == nil || !set.Has(r) || l.HasKind(name) {
			return fmt.Errorf("ask %s wants %s: it is not listed, or a node has that", r.Key, name)
		}
	}
	if kind, ok := l.Kinds.Lookup(resources.UnknownKind); ok && r.Amounts.Of(kind) != r.Unknowns() {
		return fmt.Errorf("ask %s wants %d of unknown kinds and counts %d", r.Key, r.Unknowns(), r.Amounts.Of(kind))
	}
	return nil
}
