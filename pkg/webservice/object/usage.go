package object

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// userJSON is what a user has. Groups say for which group each application counts, of
// those that count for one. LimitPercent is the part of a limit that is used most.
type userJSON struct {
	UserName     string                       `json:"userName"`
	Groups       map[api.ApplicationID]string `json:"groups,omitempty"`
	LimitPercent int64                        `json:"limitPercent,omitempty"`
	Queues       *usageJSON                   `json:"queues"`
}

// groupJSON is what the applications have that count for the limits of a group.
type groupJSON struct {
	GroupName    string              `json:"groupName"`
	Applications []api.ApplicationID `json:"applications,omitempty"`
	LimitPercent int64               `json:"limitPercent,omitempty"`
	Queues       *usageJSON          `json:"queues"`
}

// usageJSON is what is used in a queue and below, and what may be, if that is limited there.
type usageJSON struct {
	QueuePath           api.QueuePath       `json:"queuePath"`
	ResourceUsage       encoder.Quantities  `json:"resourceUsage,omitempty"`
	RunningApplications []api.ApplicationID `json:"runningApplications,omitempty"`
	MaxResources        encoder.Quantities  `json:"maxResources,omitempty"`
	MaxApplications     int                 `json:"maxApplications,omitempty"`
	Children            []*usageJSON        `json:"children,omitempty"`

	sum resources.Amounts // becomes ResourceUsage
}

// Users answers GET /ws/v1/partition/{partition}/usage/users.
func Users(at *Snapshot, r *http.Request) (any, error) {
	return query.List(r, at.kinds, at.users(), func(u *userJSON, out *userJSON) { *out = *u },
		query.Texts("user", func(u *userJSON) string { return u.UserName }))
}

// User answers GET /ws/v1/partition/{partition}/usage/user/{user}. The name is looked
// at before the partition, which look finds.
func User(look func(*http.Request) (*Snapshot, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		name, err := unescaped(r, "user")
		if err != nil {
			return nil, err
		}
		at, err := look(r)
		if err != nil {
			return nil, err
		}
		users := at.users()
		i := slices.IndexFunc(users, func(u *userJSON) bool { return u.UserName == name })
		if i < 0 {
			return nil, failure.Missing("User")
		}
		return query.One(r, users[i])
	}
}

// Groups answers GET /ws/v1/partition/{partition}/usage/groups.
func Groups(at *Snapshot, r *http.Request) (any, error) {
	return query.List(r, at.kinds, at.groups(), func(g *groupJSON, out *groupJSON) { *out = *g },
		query.Texts("group", func(g *groupJSON) string { return g.GroupName }))
}

// Group answers GET /ws/v1/partition/{partition}/usage/group/{group}. The name is
// looked at before the partition, which look finds. All others, whose name is a star, are no group.
func Group(look func(*http.Request) (*Snapshot, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		name, err := unescaped(r, "group")
		if err != nil || name == "*" {
			return nil, failure.Bad("Invalid group name")
		}
		at, err := look(r)
		if err != nil {
			return nil, err
		}
		groups := at.groups()
		i := slices.IndexFunc(groups, func(g *groupJSON) bool { return g.GroupName == name })
		if i < 0 {
			return nil, failure.Missing("Group")
		}
		return query.One(r, groups[i])
	}
}

// users is what all users with applications have, by name.
func (at *Snapshot) users() []*userJSON {
	var out []*userJSON
	for _, app := range at.sortedBy(func(app *api.ApplicationView) string { return app.User }) {
		if len(app.Allocations) == 0 {
			continue
		}
		if len(out) == 0 || out[len(out)-1].UserName != app.User {
			out = append(out, &userJSON{UserName: app.User, Queues: &usageJSON{QueuePath: at.Root.Path}})
		}
		u := out[len(out)-1]
		u.Queues.add(app)
		if app.Group == "" {
			continue
		}
		if u.Groups == nil {
			u.Groups = map[api.ApplicationID]string{}
		}
		u.Groups[app.ID] = app.Group
	}
	limits := at.limitsByQueue()
	for _, u := range out {
		u.LimitPercent = u.Queues.finish(at, limits, api.LimitOwner{Name: u.UserName})
	}
	return out
}

// groups is what all groups have that applications count for, by name.
func (at *Snapshot) groups() []*groupJSON {
	var out []*groupJSON
	for _, app := range at.sortedBy(func(app *api.ApplicationView) string { return app.Group }) {
		if app.Group == "" {
			continue
		}
		if len(out) == 0 || out[len(out)-1].GroupName != app.Group {
			out = append(out, &groupJSON{GroupName: app.Group, Queues: &usageJSON{QueuePath: at.Root.Path}})
		}
		g := out[len(out)-1]
		g.Applications = append(g.Applications, app.ID)
		if len(app.Allocations) > 0 {
			g.Queues.add(app)
		}
	}
	limits := at.limitsByQueue()
	for _, g := range out {
		g.LimitPercent = g.Queues.finish(at, limits, api.LimitOwner{Group: true, Name: g.GroupName})
	}
	return out
}

// sortedBy is the applications by the name of whose they are, then by queue.
func (at *Snapshot) sortedBy(of func(*api.ApplicationView) string) []*api.ApplicationView {
	applications := slices.Clone(at.Applications)
	slices.SortStableFunc(applications, func(a, b *api.ApplicationView) int {
		return cmp.Or(cmp.Compare(of(a), of(b)), cmp.Compare(a.Queue, b.Queue))
	})
	return applications
}

// queueLimits are the limits of users and groups in the queues that have any.
type queueLimits map[api.QueuePath]map[api.LimitOwner]*api.Limit

func (at *Snapshot) limitsByQueue() queueLimits {
	out := queueLimits{}
	out.add("", &at.Config.Root)
	return out
}

func (l queueLimits) add(above api.QueuePath, q *api.QueueConfig) {
	path := above + api.QueuePath(q.Name)
	if len(q.Limits) > 0 {
		l[path] = api.LimitsByOwner(q.Limits)
	}
	for i := range q.Queues {
		l.add(path+".", &q.Queues[i])
	}
}

// finish says by kind what was added up, and the limits of whose it is: their own, or those of
// all others. It returns the part of a limit that is used most, here and below.
func (u *usageJSON) finish(at *Snapshot, limits queueLimits, owner api.LimitOwner) (percent int64) {
	u.ResourceUsage = at.Amounts(u.sum)
	limit := limits[u.QueuePath][owner]
	if limit == nil {
		limit = limits[u.QueuePath][api.LimitOwner{Group: owner.Group, Name: "*"}]
	}
	if limit != nil {
		u.MaxResources, u.MaxApplications = at.Limits(limit.Max), limit.ApplicationsMax
		percent = u.percentOf(limit)
	}
	for _, child := range u.Children {
		percent = max(percent, child.finish(at, limits, owner))
	}
	return percent
}

// percentOf is the part of a limit that is used of the kind of which most is, or of its
// applications, in whole percent. It is beyond 100 if and only if more is used than may be.
func (u *usageJSON) percentOf(limit *api.Limit) (percent int64) {
	part := func(used, most int64) {
		switch {
		case used > most:
			percent = max(percent, 101, share(used, max(most, 1), 100))
		case used > 0:
			percent = max(percent, share(used, most, 100))
		}
	}
	for k, most := range limit.Max {
		if most != resources.Unlimited {
			part(u.sum.Of(resources.Kind(k)), most)
		}
	}
	if limit.ApplicationsMax > 0 {
		part(int64(len(u.RunningApplications)), int64(limit.ApplicationsMax))
	}
	return percent
}

// add books an application on the way to its queue. Applications come sorted by
// queue, so that of the children only the last can be on it.
func (u *usageJSON) add(app *api.ApplicationView) {
	u.sum.Add(app.Used)
	u.RunningApplications = append(u.RunningApplications, app.ID)
	if u.QueuePath == app.Queue || !app.Queue.IsWithin(u.QueuePath) {
		return
	}
	rest := string(app.Queue)[len(u.QueuePath)+1:]
	name, _, _ := strings.Cut(rest, ".")
	path := u.QueuePath + "." + api.QueuePath(name)
	if n := len(u.Children); n == 0 || u.Children[n-1].QueuePath != path {
		u.Children = append(u.Children, &usageJSON{QueuePath: path})
	}
	u.Children[len(u.Children)-1].add(app)
}
