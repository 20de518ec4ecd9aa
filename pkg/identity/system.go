package identity

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
)

// System asks the operating system. The primary group comes first; a group without a name
// is called by its number. The operating system cannot be told to stop, so that a call
// may take longer than its context lasts.
type System struct {
	lookup lookups // of the operating system, unless a test sets others
}

// lookups are the questions to the operating system.
type lookups struct {
	user   func(name string) (*user.User, error)
	groups func(*user.User) ([]string, error) // their numbers
	group  func(number string) (*user.Group, error)
}

var systemLookups = lookups{user: user.Lookup, groups: (*user.User).GroupIds, group: user.LookupGroupId}

// Groups asks for the user, then for its groups, then for the name of each.
func (s System) Groups(ctx context.Context, name string) ([]string, error) {
	lookup := s.lookup
	if lookup.user == nil {
		lookup = systemLookups
	}
	found, err := lookup.user(name)
	if err != nil {
		if _, ok := errors.AsType[user.UnknownUserError](err); ok {
			return nil, fmt.Errorf("user %q: %w", name, ErrUnknownUser)
		}
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	numbers := []string{found.Gid}
	more, err := lookup.groups(found)
	if err != nil {
		return nil, fmt.Errorf("groups of user %q: %w", name, err)
	}
	for _, number := range more {
		if !slices.Contains(numbers, number) {
			numbers = append(numbers, number)
		}
	}
	groups := make([]string, len(numbers))
	for i, number := range numbers {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("groups of user %q: %w", name, err)
		}
		groups[i] = number
		if group, err := lookup.group(number); err == nil && group.Name != "" {
			groups[i] = group.Name
		}
	}
	return groups, nil
}
