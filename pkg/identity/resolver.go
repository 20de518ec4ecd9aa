package identity

import (
	"context"
	"errors"
	"fmt"
)

// A Resolver finds the groups of a user. It may take long, and is called by several
// goroutines at once. When the context ends it should return. The caller owns the
// slice.
type Resolver interface {
	Groups(ctx context.Context, user string) ([]string, error)
}

// ErrUnknownUser is wrapped when there is no such user.
var ErrUnknownUser = errors.New("no such user")

// None gives each user one group, which has the name of the user.
type None struct{}

// Groups never fails and never takes long.
func (None) Groups(_ context.Context, user string) ([]string, error) { return []string{user}, nil }

// Test knows the users testuser1 to testuser5 and no other. The first group of each has its
// name; those with an even number are testers as well, and testuser5 is in every group.
type Test struct{}

var testGroups = map[string][]string{
	"testuser1": {"testuser1"},
	"testuser2": {"testuser2", "testers"},
	"testuser3": {"testuser3"},
	"testuser4": {"testuser4", "testers"},
	"testuser5": {"testuser5", "testuser1", "testuser2", "testuser3", "testuser4", "testers"},
}

// Groups never takes long.
func (Test) Groups(_ context.Context, user string) ([]string, error) {
	groups, ok := testGroups[user]
	if !ok {
		return nil, fmt.Errorf("user %q: %w", user, ErrUnknownUser)
	}
	return append([]string(nil), groups...), nil
}
