package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// guaranteed is the configuration in which so much is guaranteed to the queues of the ask that it is under the guarantee, after
// those that come before it in its queue. The words follow "if"; they are empty if there is no such configuration.
func (a *Answer) guaranteed(before []earlier) (config api.Config, words string) {
	var way []*api.QueueView
	anything := false
	for q := a.view.Root.Towards(a.Queue); q != nil; q = q.Towards(a.Queue) {
		way = append(way, q)
		anything = anything || !q.Guaranteed.IsZero()
	}
	config = a.view.Config
	more := map[api.QueuePath]resources.Amounts{}
	var parts []string
	var below resources.Amounts // by how much more the queue below is guaranteed
	for i := len(way) - 1; i >= 0; i-- {
		q := way[i]
		if q.Dynamic {
			return config, ""
		}
		wants := a.wants(q, before)
		var raised, changed resources.Amounts
		for k, asked := range wants {
			kind := resources.Kind(k)
			has := q.Guaranteed.Of(kind)
			if asked <= 0 || has == 0 && (anything || q != way[len(way)-1]) {
				continue
			}
			want := max(resources.Total(q.Used.Of(kind), q.Nominated.Of(kind), asked), has+below.Of(kind))
			if most := q.Max.Of(kind); want > has && want <= most {
				raised.Set(kind, want)
				changed.Set(kind, want-has)
			}
		}
		if below = changed; !raised.IsZero() {
			more[q.Path] = raised
			parts = append(parts, fmt.Sprintf("the guarantee of queue %s is raised to %s", q.Path, a.Kinds.Format(raised)))
		}
	}
	config.Root = withGuarantees(config.Root, "", more)
	return config, strings.Join(parts, ", and ")
}

// wants is what the ask, and what comes before it in a queue, asks for.
func (a *Answer) wants(q *api.QueueView, before []earlier) resources.Amounts {
	within := slices.DeleteFunc(slices.Clone(before), func(one earlier) bool { return !one.app.Queue.IsWithin(q.Path) })
	return sumWith(a.startsWith(), within)
}

// withGuarantees is a configured queue where more is guaranteed.
func withGuarantees(q api.QueueConfig, parent api.QueuePath, more map[api.QueuePath]resources.Amounts) api.QueueConfig {
	path := parent + api.QueuePath(q.Name)
	if raised := more[path]; !raised.IsZero() {
		q.Guaranteed = q.Guaranteed.Clone()
		for i, quantity := range raised {
			if quantity > 0 {
				q.Guaranteed.Set(resources.Kind(i), quantity)
			}
		}
	}
	q.Queues = slices.Clone(q.Queues)
	for i := range q.Queues {
		q.Queues[i] = withGuarantees(q.Queues[i], path+".", more)
	}
	return q
}
