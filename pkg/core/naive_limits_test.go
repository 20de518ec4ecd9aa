package core_test

import (
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// limitsHold reports whether limits of users, groups and applications let an ask run, by adding
// up what all applications have in every queue on its way to the root.
func (n naive) limitsHold(ask api.AskView) bool {
	at := slices.IndexFunc(n.view.Applications, func(app *api.ApplicationView) bool { return app.ID == ask.Application })
	app := n.view.Applications[at]
	configured := &n.view.Config.Root
	for q := n.view.Root; q != nil; {
		all := func(*api.ApplicationView) bool { return true }
		if !n.holds(api.Limit{ApplicationsMax: q.ApplicationsMax}, app, ask, q.Path, all) || !n.limitsIn(q.Path, configured, app, ask) {
			return false
		}
		i := slices.IndexFunc(q.Queues, func(child *api.QueueView) bool { return within(app.Queue, child.Path) })
		if i < 0 {
			return true
		}
		q = q.Queues[i]
		configured = childOf(configured, q.Path)
	}
	return true
}

// childOf is the configuration of a queue below another; nil if it has none.
func childOf(q *api.QueueConfig, path api.QueuePath) *api.QueueConfig {
	if q == nil {
		return nil
	}
	for i := range q.Queues {
		if strings.HasSuffix(string(path), "."+q.Queues[i].Name) {
			return &q.Queues[i]
		}
	}
	return nil
}

// limitsIn reports whether the limits of users and groups in one queue let an ask run.
func (n naive) limitsIn(path api.QueuePath, q *api.QueueConfig, app *api.ApplicationView, ask api.AskView) bool {
	if q == nil {
		return true
	}
	sameUser := func(other *api.ApplicationView) bool { return other.User == app.User }
	if l := limitOf(q, app.User, func(l api.Limit) []string { return l.Users }); l != nil && !n.holds(*l, app, ask, path, sameUser) {
		return false
	}
	sameGroup := func(other *api.ApplicationView) bool { return other.Group == app.Group }
	l := limitOf(q, app.Group, func(l api.Limit) []string { return l.Groups })
	return app.Group == "" || l == nil || n.holds(*l, app, ask, path, sameGroup)
}

func within(queue, path api.QueuePath) bool {
	return queue == path || strings.HasPrefix(string(queue), string(path)+".")
}

// limitOf is the limit of a name in a queue, or that of all others.
func limitOf(q *api.QueueConfig, name string, of func(api.Limit) []string) *api.Limit {
	for _, wanted := range []string{name, "*"} {
		for i := range q.Limits {
			if slices.Contains(of(q.Limits[i]), wanted) {
				return &q.Limits[i]
			}
		}
	}
	return nil
}

// holds reports whether a limit of some applications below a queue holds an ask of one of them.
func (n naive) holds(l api.Limit, app *api.ApplicationView, ask api.AskView, path api.QueuePath, of func(*api.ApplicationView) bool) bool {
	used, count := resources.Amounts{}, 0
	for _, other := range n.view.Applications {
		if !of(other) || !within(other.Queue, path) {
			continue
		}
		used = used.Plus(other.Used)
		if other.Counts {
			count++
		}
	}
	if l.ApplicationsMax > 0 && !app.Counts && count >= l.ApplicationsMax {
		return false
	}
	return l.Max.Room(used, ask.Amounts)
}
