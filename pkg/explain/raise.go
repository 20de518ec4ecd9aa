package explain

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A raise is what queues, and users and groups in them, may have more on a copy.
type raise struct {
	queues map[api.QueuePath]higher
	owners []raisedOwner
}

// A higher is how much more one of them may have.
type higher struct {
	by           resources.Amounts
	applications int
}

// A raisedOwner is a user or group that may have more in a queue.
type raisedOwner struct {
	queue api.QueuePath
	owner api.LimitOwner
	more  higher
}

// An earlier is an ask that comes before another one in line.
type earlier struct {
	app *api.ApplicationView
	ask *api.Allocation
}

// raise is what the ask of an answer, and what starts with it, lacks of quotas and limits, so that there is also room for what comes
// before it.
func (a *Answer) raise(before []earlier) raise {
	r := raise{queues: map[api.QueuePath]higher{}}
	for _, l := range a.levels() {
		if !l.isShort() {
			continue
		}
		more := a.moreFor(l, before)
		if l.Limit == nil {
			r.queues[l.Queue] = more
		} else {
			r.owners = append(r.owners, raisedOwner{l.Queue, *l.Limit, more})
		}
	}
	return r
}

// levels are all that may keep the ask away, and are no nodes.
func (a *Answer) levels() (list []*Level) {
	for i := range a.Quota {
		list = append(list, &a.Quota[i])
	}
	for i := range a.Limits {
		list = append(list, &a.Limits[i])
	}
	return list
}

// moreFor is by how much a level is raised for the ask and for what comes before it.
func (a *Answer) moreFor(l *Level, before []earlier) (more higher) {
	asked := a.startsWith().Clone()
	applications := map[api.ApplicationID]bool{}
	for _, one := range before {
		if !l.counts(one.app) {
			continue
		}
		asked.Add(one.ask.Amounts)
		if !one.app.Counts && one.app.ID != a.Allocation.Application {
			applications[one.app.ID] = true
		}
	}
	more.by = l.lacking(asked)
	if l.Full > 0 {
		more.applications = len(applications) + 1
	}
	return more
}

// withRoom is the view with a raise, on which no eviction becomes overdue, and its application does not back off.
func (a *Answer) withRoom(r raise) *api.View {
	v := *a.view
	v.Config = withoutTimeouts(v.Config)
	if len(r.queues)+len(r.owners) > 0 {
		v.Root = r.above(v.Root)
		v.Config.Root = r.config(v.Config.Root, "")
	}
	i := slices.IndexFunc(v.Applications, func(app *api.ApplicationView) bool { return app.ID == a.Allocation.Application })
	if app := v.Applications[i]; !app.BackoffUntil.IsZero() {
		own := *app
		own.BackoffUntil = time.Time{}
		v.Applications = slices.Clone(v.Applications)
		v.Applications[i] = &own
	}
	return &v
}

// above is a queue with a higher max there and below.
func (r raise) above(q *api.QueueView) *api.QueueView {
	own := *q
	if more, raised := r.queues[q.Path]; raised {
		own.Max = above(q.Max, more.by)
		own.ApplicationsMax += more.applications
		if q.Dynamic {
			own.Quota = &api.QueueQuota{Guaranteed: q.Guaranteed, Max: own.Max, ApplicationsMax: own.ApplicationsMax}
		}
	}
	own.Queues = make([]*api.QueueView, len(q.Queues))
	for i, child := range q.Queues {
		own.Queues[i] = r.above(child)
	}
	return &own
}

// config is the same of a configured queue.
func (r raise) config(q api.QueueConfig, parent api.QueuePath) api.QueueConfig {
	path := parent + api.QueuePath(q.Name)
	q.Max = above(q.Max, r.queues[path].by)
	q.ApplicationsMax += r.queues[path].applications
	for _, one := range r.owners {
		if one.queue == path {
			q.Limits = raisedLimits(q.Limits, one.owner, one.more)
		}
	}
	q.Queues = slices.Clone(q.Queues)
	for i := range q.Queues {
		q.Queues[i] = r.config(q.Queues[i], path+".")
	}
	return q
}

// raisedLimits are limits of which that of a user or group is higher, of it alone.
func raisedLimits(limits []api.Limit, owner api.LimitOwner, more higher) (list []api.Limit) {
	namesOf := func(l *api.Limit) *[]string {
		if owner.Group {
			return &l.Groups
		}
		return &l.Users
	}
	name := owner.Name
	if !slices.ContainsFunc(limits, func(l api.Limit) bool { return slices.Contains(*namesOf(&l), name) }) {
		name = allOthers(owner).Name
	}
	for _, l := range limits {
		names := *namesOf(&l)
		i := slices.Index(names, name)
		if i < 0 {
			list = append(list, l)
			continue
		}
		before, own, after := l, api.Limit{Max: above(l.Max, more.by), ApplicationsMax: l.ApplicationsMax}, l
		if own.ApplicationsMax > 0 {
			own.ApplicationsMax += more.applications
		}
		*namesOf(&own) = []string{owner.Name}
		*namesOf(&before) = names[:i]
		*namesOf(&after) = names[i:]
		if name == owner.Name {
			*namesOf(&after) = names[i+1:]
		}
		if owner.Group {
			after.Users = nil
		} else {
			after.Groups = nil
		}
		list = append(list, before, own, after)
	}
	return list
}

// above is limits that are raised where there are any.
func above(limits resources.Limits, more resources.Amounts) resources.Limits {
	if more.IsZero() {
		return limits
	}
	limits = limits.Clone()
	for i, quantity := range more {
		if kind := resources.Kind(i); limits.Of(kind) != resources.Unlimited {
			limits.Set(kind, limits.Of(kind)+quantity)
		}
	}
	return limits
}
