package object

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/guarantee"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// guaranteeStateTest picks applications of queues that stand so, or are below one that does.
func (at *Snapshot) guaranteeStateTest(value string) (func(*api.ApplicationView) bool, error) {
	if err := query.OneOf("guaranteeState", value, guarantee.States()); err != nil {
		return nil, err
	}
	var stand []api.QueuePath
	for _, q := range ranked(at.Root) {
		if q.State.String() == value {
			stand = append(stand, q.Path)
		}
	}
	return func(a *api.ApplicationView) bool {
		return slices.ContainsFunc(stand, a.Queue.IsWithin)
	}, nil
}

// A rankedQueue is a queue with a guarantee.
type rankedQueue struct {
	*api.QueueView
	guarantee.Standing
}

// ranked is every queue with a guarantee, at any level, the most urgent to look at first.
func ranked(root *api.QueueView) []rankedQueue {
	var out []rankedQueue
	var walk func(*api.QueueView)
	walk = func(q *api.QueueView) {
		if s := guarantee.StandingOf(q); s.State != guarantee.None {
			out = append(out, rankedQueue{q, s})
		}
		for _, child := range q.Queues {
			walk(child)
		}
	}
	walk(root)
	slices.SortFunc(out, func(a, b rankedQueue) int {
		return cmp.Or(a.Compare(b.Standing), strings.Compare(string(a.Path), string(b.Path)))
	})
	return out
}

// statesByKind is how a queue stands in each kind that is guaranteed to it, in words.
func statesByKind(q *api.QueueView, kinds *resources.Kinds) map[string]string {
	states := map[string]string{}
	for k := range q.Guaranteed {
		if s := guarantee.Of(q, resources.Kind(k)); s != guarantee.None {
			states[kinds.Name(resources.Kind(k))] = s.String()
		}
	}
	return states
}
