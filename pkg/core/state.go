package core

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// moves is every change of state there is.
var moves = [api.States][]api.State{
	api.New:        {api.Accepted, api.Running, api.Completed, api.Failing},
	api.Accepted:   {api.Resuming, api.Running, api.Completing, api.Failing},
	api.Resuming:   {api.Accepted},
	api.Running:    {api.Completing, api.Failing},
	api.Completing: {api.Accepted, api.Running, api.Completed},
	api.Failing:    {api.Failed},
	api.Completed:  {},
	api.Failed:     {},
}

// ErrNoMove is wrapped by the error for a change of state that does not exist.
var ErrNoMove = errors.New("no such change of state")

// moveTo changes the state, or says which change was asked for and is none.
func (a *application) moveTo(next api.State, now time.Time) error {
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
	case api.Running:
		return true
	case api.Accepted, api.Completing:
		return len(a.allocations) == placeholders
	case api.Resuming:
		return placeholders > 0
	case api.Failing:
		return !a.idle()
	case api.New, api.Completed, api.Failed:
	}
	return len(a.allocations) == 0
}
