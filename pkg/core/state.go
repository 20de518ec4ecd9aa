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
// asks and no allocation; a completing one has nothing left and waits for more.
const (
	New State = iota
	Accepted
	Running
	Completing
	Completed
)

var stateNames = [...]string{
	New:        "New",
	Accepted:   "Accepted",
	Running:    "Running",
	Completing: "Completing",
	Completed:  "Completed",
}

func (s State) String() string { return stateNames[s] }

// moves is every change of state there is.
var moves = [...][]State{
	New:        {Accepted, Running},
	Accepted:   {Running, Completing},
	Running:    {Completing},
	Completing: {Accepted, Running, Completed},
	Completed:  {},
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
