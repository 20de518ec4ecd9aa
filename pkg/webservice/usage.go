package webservice

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// userJSON is what a user has. Groups are those whose limits count for an
// application; there are no limits yet, so there are none.
type userJSON struct {
	UserName string            `json:"userName"`
	Groups   map[string]string `json:"groups,omitempty"`
	Queues   *usageJSON        `json:"queues"`
}

// groupJSON is what a group has: what counts for its limits.
type groupJSON struct {
	GroupName    string               `json:"groupName"`
	Applications []core.ApplicationID `json:"applications,omitempty"`
	Queues       *usageJSON           `json:"queues"`
}

// usageJSON is what is used in a queue and below.
type usageJSON struct {
	QueuePath           core.QueuePath       `json:"queuePath"`
	ResourceUsage       quantities           `json:"resourceUsage,omitempty"`
	RunningApplications []core.ApplicationID `json:"runningApplications,omitempty"`
	Children            []*usageJSON         `json:"children,omitempty"`

	sum resources.Amounts // becomes ResourceUsage
}

// users answers GET /ws/v1/partition/{partition}/usage/users.
func users(at *snapshot, r *http.Request) (any, error) {
	return list(r, at.kinds, at.users(), func(u *userJSON, out *userJSON) { *out = *u },
		texts("user", func(u *userJSON) string { return u.UserName }))
}

// user answers GET /ws/v1/partition/{partition}/usage/user/{user}. The name is looked
// at before the partition.
func (s *Service) user(r *http.Request) (any, error) {
	name, err := unescaped(r, "user")
	if err != nil {
		return nil, err
	}
	at, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	users := at.users()
	i := slices.IndexFunc(users, func(u *userJSON) bool { return u.UserName == name })
	if i < 0 {
		return nil, missing("User")
	}
	return one(r, users[i])
}

// groups answers GET /ws/v1/partition/{partition}/usage/groups: no group has a
// limit, so nothing counts for any.
func groups(at *snapshot, r *http.Request) (any, error) {
	return list(r, at.kinds, nil, func(g *groupJSON, out *groupJSON) { *out = *g })
}

// group answers GET /ws/v1/partition/{partition}/usage/group/{group}. The name is
// looked at before the partition.
func (s *Service) group(r *http.Request) (any, error) {
	if name, err := unescaped(r, "group"); err != nil || name == "*" {
		return nil, bad("Invalid group name")
	}
	if _, err := s.snapshot(r); err != nil {
		return nil, err
	}
	return nil, missing("Group")
}

// users is what all users with applications have, by name.
func (at *snapshot) users() []*userJSON {
	var out []*userJSON
	applications := slices.Clone(at.Applications)
	slices.SortStableFunc(applications, func(a, b *core.ApplicationView) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Queue, b.Queue))
	})
	for _, app := range applications {
		if len(app.Allocations) == 0 {
			continue
		}
		if len(out) == 0 || out[len(out)-1].UserName != app.User {
			out = append(out, &userJSON{UserName: app.User, Queues: &usageJSON{QueuePath: at.Root.Path}})
		}
		out[len(out)-1].Queues.add(app)
	}
	for _, u := range out {
		u.Queues.finish(at)
	}
	return out
}

// finish says by kind what was added up.
func (u *usageJSON) finish(at *snapshot) {
	u.ResourceUsage = at.amounts(u.sum)
	for _, child := range u.Children {
		child.finish(at)
	}
}

// add books an application on the way to its queue. Applications come sorted by
// queue, so that of the children only the last can be on it.
func (u *usageJSON) add(app *core.ApplicationView) {
	u.sum.Add(app.Used)
	u.RunningApplications = append(u.RunningApplications, app.ID)
	if u.QueuePath == app.Queue || !within(app.Queue, u.QueuePath) {
		return
	}
	rest := string(app.Queue)[len(u.QueuePath)+1:]
	name, _, _ := strings.Cut(rest, ".")
	path := u.QueuePath + "." + core.QueuePath(name)
	if n := len(u.Children); n == 0 || u.Children[n-1].QueuePath != path {
		u.Children = append(u.Children, &usageJSON{QueuePath: path})
	}
	u.Children[len(u.Children)-1].add(app)
}
