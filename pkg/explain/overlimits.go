package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// OverLimit is how much a user or group would use over its limit in a queue. Nothing is evicted
// because of that; nothing more of it runs.
type OverLimit struct {
	Queue        api.QueuePath
	Owner        api.LimitOwner
	By           resources.Amounts
	Applications int // that run, over the limit of applications
}

// A limitUse is what counts for a limit.
type limitUse struct {
	limit        *api.Limit
	used         resources.Amounts
	applications int
}

// overLimits lists the users and groups that are over their limits, by queue and name.
func overLimits(view *api.View) (list []OverLimit) {
	type place struct {
		queue api.QueuePath
		owner api.LimitOwner
	}
	limits, uses := limitsOf(view), map[place]*limitUse{}
	for _, app := range view.Applications {
		for path := app.Queue; path != "" && len(limits) > 0; path = path[:max(strings.LastIndexByte(string(path), '.'), 0)] {
			for _, owner := range []api.LimitOwner{{Name: app.User}, {Group: true, Name: app.Group}} {
				limit := cmp.Or(limits[path][owner], limits[path][allOthers(owner)])
				if limit == nil || owner.Group && owner.Name == "" {
					continue
				}
				at := place{path, owner}
				if uses[at] == nil {
					uses[at] = &limitUse{limit: limit}
				}
				uses[at].used.Add(app.Used)
				if app.Counts {
					uses[at].applications++
				}
			}
		}
	}
	for at, use := range uses { // sorted below
		over := OverLimit{Queue: at.queue, Owner: at.owner, By: beyond(use.used, use.limit.Max)}
		if most := use.limit.ApplicationsMax; most > 0 {
			over.Applications = max(use.applications-most, 0)
		}
		if over.Applications > 0 || !over.By.IsZero() {
			list = append(list, over)
		}
	}
	slices.SortFunc(list, func(a, b OverLimit) int {
		order := cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Owner.Name, b.Owner.Name))
		if order == 0 && a.Owner.Group != b.Owner.Group {
			order = 1
			if b.Owner.Group {
				order = -1
			}
		}
		return order
	})
	return list
}

// allOthers is whose limit holds for a user or group that has none of its own.
func allOthers(owner api.LimitOwner) api.LimitOwner {
	return api.LimitOwner{Group: owner.Group, Name: "*"}
}

// limitsOf are all limits of users and groups, by queue and by whose they are.
func limitsOf(view *api.View) map[api.QueuePath]map[api.LimitOwner]*api.Limit {
	all := map[api.QueuePath]map[api.LimitOwner]*api.Limit{}
	collectLimits(all, "", &view.Config.Root)
	return all
}

func collectLimits(into map[api.QueuePath]map[api.LimitOwner]*api.Limit, above api.QueuePath, q *api.QueueConfig) {
	path := above + api.QueuePath(q.Name)
	if len(q.Limits) > 0 {
		into[path] = api.LimitsByOwner(q.Limits)
	}
	for i := range q.Queues {
		collectLimits(into, path+".", &q.Queues[i])
	}
}

// beyond is how much of each kind is used over a max.
func beyond(used resources.Amounts, most resources.Limits) (by resources.Amounts) {
	for i, v := range used {
		kind := resources.Kind(i)
		if limit := most.Of(kind); limit != resources.Unlimited && v > limit {
			by.Set(kind, v-limit)
		}
	}
	return by
}
