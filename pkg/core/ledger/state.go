package ledger

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
	api.Accepted:   {api.Resuming, api.Running, api.Completing, api.Completed, api.Failing},
	api.Resuming:   {api.Accepted},
	api.Running:    {api.Completing, api.Failing},
	api.Completing: {api.Accepted, api.Running, api.Completed},
	api.Failing:    {api.Failed},
	api.Completed:  {},
	api.Failed:     {},
}

// ErrNoMove is wrapped by the error for a change of state that does not exist.
var errNoMove = errors.New("no such change of state")

// MoveTo changes the state, or says which change was asked for and is none.
func (a *Application) MoveTo(next api.State, now time.Time) error {
	if !slices.Contains(moves[a.State], next) {
		return fmt.Errorf("application %s: %s to %s: %w", a.ID, a.State, next, errNoMove)
	}
	a.State, a.Since, a.View = next, now, nil
	return nil
}

// MayRun reports whether the state of an application goes with what it has.
func (a *Application) MayRun() bool {
	placeholders := 0
	if a.Gang != nil {
		placeholders = a.Gang.Placeholders
	}
	switch a.State {
	case api.Running:
		return true
	case api.Accepted, api.Completing:
		return len(a.Allocations) == placeholders
	case api.Resuming:
		return placeholders > 0
	case api.Failing:
		return !a.Idle()
	case api.New, api.Completed, api.Failed:
	}
	return len(a.Allocations) == 0
}
