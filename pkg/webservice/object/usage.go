package object

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// userJSON is what a user has. Groups say for which group each application counts, of
// those that count for one. LimitPercent is the part of a limit that is used most.
// Of the asks that wait it says how many they are and since when the oldest waits, and how many
// came in the last five minutes.
type userJSON struct {
	UserName          string                       `json:"userName"`
	Groups            map[api.ApplicationID]string `json:"groups,omitempty"`
	LimitPercent      *int64                       `json:"limitPercent,omitempty"`
	PendingAsks       int                          `json:"pendingAsks,omitempty"`
	OldestRequestTime encoder.Nanoseconds          `json:"oldestRequestTime,omitempty"`
	Arrivals          int                          `json:"arrivals,omitempty"`
	Queues            *usageJSON                   `json:"queues"`
}

// groupJSON is what the applications have that count for the limits of a group.
type groupJSON struct {
	GroupName         string              `json:"groupName"`
	Applications      []api.ApplicationID `json:"applications,omitempty"`
	LimitPercent      *int64              `json:"limitPercent,omitempty"`
	PendingAsks       int                 `json:"pendingAsks,omitempty"`
	OldestRequestTime encoder.Nanoseconds `json:"oldestRequestTime,omitempty"`
	Arrivals          int                 `json:"arrivals,omitempty"`
	Queues            *usageJSON          `json:"queues"`
}

// usageJSON is what is used in a queue and below, and what may be, if that is limited there.
type usageJSON struct {
	QueuePath           api.QueuePath       `json:"queuePath"`
	ResourceUsage       encoder.Quantities  `json:"resourceUsage,omitempty"`
	RunningApplications []api.ApplicationID `json:"runningApplications,omitempty"`
	MaxResources        encoder.Quantities  `json:"maxResources,omitempty"`
	MaxApplications     int                 `json:"maxApplications,omitempty"`
	PendingAsks         int                 `json:"pendingAsks,omitempty"`
	OldestRequestTime   encoder.Nanoseconds `json:"oldestRequestTime,omitempty"`
	Arrivals            int                 `json:"arrivals,omitempty"`
	PendingResource     encoder.Quantities  `json:"pendingResource,omitempty"`
	Children            []*usageJSON        `json:"children,omitempty"`

	sum, pending resources.Amounts // become ResourceUsage and PendingResource
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

// users is what all users have that have allocations, asks that wait, or asks that came lately,
// by name.
func (at *Snapshot) users() []*userJSON {
	known := map[string]*userJSON{}
	of := func(name string) *userJSON {
		if known[name] == nil {
			known[name] = &userJSON{UserName: name, Queues: &usageJSON{QueuePath: at.Root.Path}}
		}
		return known[name]
	}
	for _, app := range at.applicationsByQueue() {
		if len(app.Asks) > 0 {
			of(app.User).Queues.wait(app)
		}
		if len(app.Allocations) == 0 {
			continue
		}
		u := of(app.User)
		u.Queues.use(app)
		if app.Group == "" {
			continue
		}
		if u.Groups == nil {
			u.Groups = map[api.ApplicationID]string{}
		}
		u.Groups[app.ID] = app.Group
	}
	for _, a := range at.arrivals() {
		of(a.User).Queues.arrive(a)
	}
	limits := at.limitsByQueue()
	out := make([]*userJSON, 0, len(known))
	for _, name := range slices.Sorted(maps.Keys(known)) {
		u := known[name]
		u.LimitPercent = u.Queues.finish(at, limits, api.LimitOwner{Name: name})
		u.PendingAsks, u.OldestRequestTime, u.Arrivals = u.Queues.PendingAsks, u.Queues.OldestRequestTime, u.Queues.Arrivals
		out = append(out, u)
	}
	return out
}

// groups is what all groups have that applications count for, and what waits and came of the
// users of all groups, by name.
func (at *Snapshot) groups() []*groupJSON {
	known := map[string]*groupJSON{}
	of := func(name string) *groupJSON {
		if known[name] == nil {
			known[name] = &groupJSON{GroupName: name, Queues: &usageJSON{QueuePath: at.Root.Path}}
		}
		return known[name]
	}
	for _, app := range at.applicationsByQueue() {
		if len(app.Asks) > 0 {
			for _, name := range app.Groups {
				of(name).Queues.wait(app)
			}
		}
		if app.Group == "" {
			continue
		}
		g := of(app.Group)
		g.Applications = append(g.Applications, app.ID)
		if len(app.Allocations) > 0 {
			g.Queues.use(app)
		}
	}
	for _, a := range at.arrivals() {
		for _, name := range a.Groups {
			of(name).Queues.arrive(a)
		}
	}
	limits := at.limitsByQueue()
	out := make([]*groupJSON, 0, len(known))
	for _, name := range slices.Sorted(maps.Keys(known)) {
		g := known[name]
		g.LimitPercent = g.Queues.finish(at, limits, api.LimitOwner{Group: true, Name: name})
		g.PendingAsks, g.OldestRequestTime, g.Arrivals = g.Queues.PendingAsks, g.Queues.OldestRequestTime, g.Queues.Arrivals
		out = append(out, g)
	}
	return out
}

// applicationsByQueue is the applications by queue.
func (at *Snapshot) applicationsByQueue() []*api.ApplicationView {
	applications := slices.Clone(at.Applications)
	slices.SortStableFunc(applications, func(a, b *api.ApplicationView) int { return cmp.Compare(a.Queue, b.Queue) })
	return applications
}

// arrivals are the asks that came lately; none where the past is not known.
func (at *Snapshot) arrivals() []archive.Arrivals {
	if at.past == nil {
		return nil
	}
	return at.past.Arrivals(at.Now())
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
// all others. It returns the part of a limit that is used most, here and below; nil where nothing is limited.
func (u *usageJSON) finish(at *Snapshot, limits queueLimits, owner api.LimitOwner) (percent *int64) {
	u.ResourceUsage, u.PendingResource = at.Amounts(u.sum), at.Amounts(u.pending)
	limit := limits[u.QueuePath][owner]
	if limit == nil {
		limit = limits[u.QueuePath][api.LimitOwner{Group: owner.Group, Name: "*"}]
	}
	if limit != nil {
		u.MaxResources, u.MaxApplications = at.Limits(limit.Max), limit.ApplicationsMax
		own := u.percentOf(limit)
		percent = &own
	}
	for _, child := range u.Children {
		if below := child.finish(at, limits, owner); below != nil && (percent == nil || *below > *percent) {
			percent = below
		}
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

// use books what an application uses on the way to its queue.
func (u *usageJSON) use(app *api.ApplicationView) {
	u.onWay(app.Queue, func(at *usageJSON) {
		at.sum.Add(app.Used)
		at.RunningApplications = append(at.RunningApplications, app.ID)
	})
}

// wait books the asks of an application that wait.
func (u *usageJSON) wait(app *api.ApplicationView) {
	first := oldestOf(app.Asks)
	u.onWay(app.Queue, func(at *usageJSON) {
		at.pending.Add(app.Pending)
		at.PendingAsks += len(app.Asks)
		if at.OldestRequestTime == 0 || first < at.OldestRequestTime {
			at.OldestRequestTime = first
		}
	})
}

// arrive books asks that came lately.
func (u *usageJSON) arrive(a archive.Arrivals) {
	u.onWay(a.Queue, func(at *usageJSON) { at.Arrivals += a.Asks })
}

// onWay visits the queues on the way to one, which come to be.
func (u *usageJSON) onWay(path api.QueuePath, visit func(*usageJSON)) {
	visit(u)
	if u.QueuePath == path || !path.IsWithin(u.QueuePath) {
		return
	}
	name, _, _ := strings.Cut(string(path)[len(u.QueuePath)+1:], ".")
	child := u.QueuePath + "." + api.QueuePath(name)
	i, known := slices.BinarySearchFunc(u.Children, child, func(c *usageJSON, path api.QueuePath) int { return cmp.Compare(c.QueuePath, path) })
	if !known {
		u.Children = slices.Insert(u.Children, i, &usageJSON{QueuePath: child})
	}
	u.Children[i].onWay(path, visit)
}
