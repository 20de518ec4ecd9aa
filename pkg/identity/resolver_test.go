package identity

import (
	"context"
	"errors"
	"os/user"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

func TestNoneIsTheUser(t *testing.T) {
	groups, err := None{}.Groups(t.Context(), "ann")
	assert.NilError(t, err)
	assert.DeepEqual(t, groups, []string{"ann"})
}

func TestTestUsers(t *testing.T) {
	for i, name := range []string{"testuser1", "testuser2", "testuser3", "testuser4", "testuser5"} {
		groups, err := Test{}.Groups(t.Context(), name)
		assert.NilError(t, err)
		assert.Equal(t, groups[0], name)
		assert.Equal(t, slices.Contains(groups, "testers"), i == 1 || i == 3 || i == 4)
		groups[0] = "changed"
		again, _ := Test{}.Groups(t.Context(), name)
		assert.Equal(t, again[0], name)
	}
	_, err := Test{}.Groups(t.Context(), "testuser6")
	assert.ErrorIs(t, err, ErrUnknownUser)
}

// The primary group comes first, once, and a group without a name is its number.
func TestGroupsOfTheSystem(t *testing.T) {
	s := System{lookups{
		user: func(name string) (*user.User, error) {
			if name != "ann" {
				return nil, user.UnknownUserError(name)
			}
			return &user.User{Username: name, Gid: "20"}, nil
		},
		groups: func(*user.User) ([]string, error) { return []string{"10", "20", "30"}, nil },
		group: func(number string) (*user.Group, error) {
			names := map[string]string{"10": "dev", "20": "staff"}
			if names[number] == "" {
				return nil, user.UnknownGroupIdError(number)
			}
			return &user.Group{Name: names[number]}, nil
		},
	}}
	groups, err := s.Groups(t.Context(), "ann")
	assert.NilError(t, err)
	assert.DeepEqual(t, groups, []string{"staff", "dev", "30"})
	_, err = s.Groups(t.Context(), "bob")
	assert.ErrorIs(t, err, ErrUnknownUser)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = s.Groups(ended, "ann")
	assert.ErrorIs(t, err, context.Canceled)
	s.lookup.groups = func(*user.User) ([]string, error) { return nil, errors.New("broken") }
	_, err = s.Groups(t.Context(), "ann")
	assert.ErrorContains(t, err, `groups of user "ann": broken`)
}

// Every machine that runs tests has a user which runs them.
func TestGroupsOfThisUser(t *testing.T) {
	self, err := user.Current()
	if err != nil {
		t.Skipf("the operating system does not know the user that runs this test: %v", err)
	}
	groups, err := System{}.Groups(t.Context(), self.Username)
	assert.NilError(t, err)
	assert.Assert(t, len(groups) > 0)
}
