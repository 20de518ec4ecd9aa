package doctor

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A reach is one way in which something configured is out of reach, and where that is so.
type reach struct {
	severity Severity
	words    string // before the first few names
	first    []string
	queue    api.QueuePath
	n        int
}

const reachShown = 3

func (r *reach) add(queue api.QueuePath, what string) {
	if r.n++; r.n == 1 {
		r.queue = queue
	}
	if len(r.first) < reachShown {
		r.first = append(r.first, what)
	}
}

// reaches are all ways.
type reaches struct {
	e                                *examination
	guarantee, together, most, users reach
}

// limits finds guarantees and limits that are larger than what there is, or than what the queues above have.
func (e *examination) limits() {
	r := &reaches{
		e:         e,
		guarantee: reach{severity: Wrong, words: "a queue is guaranteed more than it can ever use"},
		together:  reach{severity: Wrong, words: "the queues below one are together guaranteed more than there is for them"},
		most:      reach{severity: Note, words: "the max of a queue is more than there is for it"},
		users:     reach{severity: Note, words: "the limit of users or groups is more than there is for them"},
	}
	r.queue(e.view.Root, nil)
	r.owners("", &e.view.Config.Root)
	for _, one := range []*reach{&r.guarantee, &r.together, &r.most, &r.users} {
		if one.n == 0 {
			continue
		}
		list := strings.Join(one.first, ", ")
		if more := one.n - len(one.first); more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		e.add(Finding{
			Kind: OutOfReach, Severity: one.severity, Subject: string(one.queue), Queue: one.queue,
			Cause:  one.words + ": " + list,
			Remedy: "none was tried: lower it, or bring nodes",
		})
	}
}

// there is how much a queue can use at most of a kind: what the nodes have, or what a queue above may have.
func (r *reaches) there(above resources.Limits, kind resources.Kind) int64 {
	return min(r.e.view.Capacity.Of(kind), above.Of(kind))
}

// queue looks at a queue and all below it; above is the least max of those above.
func (r *reaches) queue(q *api.QueueView, above resources.Limits) {
	if q != r.e.view.Root {
		r.compare(q, above)
	}
	above = above.Least(q.Max)
	if len(q.Queues) == 0 {
		return
	}
	var sum resources.Sum
	for _, child := range q.Queues {
		sum.Add(child.Guaranteed)
		r.queue(child, above)
	}
	for i, all := range sum.Amounts {
		kind := resources.Kind(i)
		if there := r.there(above, kind); all > there && all > 0 {
			r.together.add(q.Path, fmt.Sprintf("below %s %s of %s", q.Path, r.e.one(kind, all), r.e.one(kind, there)))
		}
	}
}

// compare looks at what is configured for one queue.
func (r *reaches) compare(q *api.QueueView, above resources.Limits) {
	for i, guaranteed := range q.Guaranteed {
		kind := resources.Kind(i)
		if there := r.there(above.Least(q.Max), kind); guaranteed > there {
			r.guarantee.add(q.Path, fmt.Sprintf("%s %s of %s", q.Path, r.e.one(kind, guaranteed), r.e.one(kind, there)))
		}
	}
	for i := range q.Max {
		kind := resources.Kind(i)
		most := q.Max.Of(kind)
		if there := r.there(above, kind); most != resources.Unlimited && most > there {
			r.most.add(q.Path, fmt.Sprintf("%s %s of %s", q.Path, r.e.one(kind, most), r.e.one(kind, there)))
		}
	}
}

// owners looks at the limits of users and groups in a queue and below.
func (r *reaches) owners(parent api.QueuePath, q *api.QueueConfig) {
	path := parent + api.QueuePath(q.Name)
	above := r.maxOf(path)
	for i := range q.Limits {
		limit := &q.Limits[i]
		r.e.looked.Limits++
		names := strings.Join(append(append([]string(nil), limit.Users...), limit.Groups...), ", ")
		for k := range limit.Max {
			kind := resources.Kind(k)
			most := limit.Max.Of(kind)
			if there := r.there(above, kind); most != resources.Unlimited && most > there {
				r.users.add(path, fmt.Sprintf("%s in %s %s of %s", names, path, r.e.one(kind, most), r.e.one(kind, there)))
			}
		}
	}
	for i := range q.Queues {
		r.owners(path+".", &q.Queues[i])
	}
}

// maxOf is the least max of a queue and those above it.
func (r *reaches) maxOf(path api.QueuePath) (most resources.Limits) {
	for q := r.e.view.Root; q != nil; q = q.Towards(path) {
		most = most.Least(q.Max)
	}
	return most
}
