package core

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is the state of an application.
type State uint8

// The states of an application. A new one has no ask yet; an accepted one has
// asks and no allocation, or not all placeholders of its gang; a resuming one waits until
// its placeholders have ended, which took too long to be placed, and goes on without them;
// a completing one has nothing left and waits for more; a failing one waits until all that
// it has has ended.
const (
	New State = iota
	Accepted
	Resuming
	Running
	Completing
	Failing
	Completed
	Failed
)

// States is how many states there are.
const States = int(Failed) + 1

var stateNames = [States]string{
	New:        "New",
	Accepted:   "Accepted",
	Resuming:   "Resuming",
	Running:    "Running",
	Completing: "Completing",
	Failing:    "Failing",
	Completed:  "Completed",
	Failed:     "Failed",
}

func (s State) String() string { return stateNames[s] }

// IsLast reports whether an application leaves its queue with the state.
func (s State) IsLast() bool { return s == Completed || s == Failed }

// moves is every change of state there is.
var moves = [States][]State{
	New:        {Accepted, Running, Completed, Failing},
	Accepted:   {Resuming, Running, Completing, Failing},
	Resuming:   {Accepted},
	Running:    {Completing, Failing},
	Completing: {Accepted, Running, Completed},
	Failing:    {Failed},
	Completed:  {},
	Failed:     {},
}

// ErrNoMove is wrapped by the error for a change of state that does not exist.
var ErrNoMove = errors.New("no such change of state")

// moveTo changes the state, or says which change was asked for and is none.
func (a *application) moveTo(next State, now time.Time) error {
	if !slices.Contains(moves[a.state], next) {
		return fmt.Errorf("application %s: %s to %s: %w", a.id, a.state, next, ErrNoMove)
	}
	a.state, a.since = next, now
	return nil
}

// mayRun reports whether the state of an application goes with what it has.
func (a *application) mayRun() bool {
	placeholders := 0
	if a.gang != nil {
		placeholders = a.gang.placeholders
	}
	switch a.state {
	case Running:
		return true
	case Accepted, Completing:
		return len(a.allocations) == placeholders
	case Resuming:
		return placeholders > 0
	case Failing:
		return !a.idle()
	case New, Completed, Failed:
	}
	return len(a.allocations) == 0
}
