package explain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// forGroup is more room for a group of which each member has room by itself, but not all that must start together: a node with
// room for one of them, for twice as many, and so on.
func (a *Answer) forGroup(q *questioner) (list []cure) {
	if a.Reason != api.AwaitsGang && a.Reason != api.GroupBelow {
		return nil
	}
	members := a.starting()
	like, level := a.roomiest(members)
	for n := 1; n > 0; n *= 2 {
		n = min(n, len(members))
		var free resources.Amounts
		for _, ask := range members[:n] {
			free.Add(ask.Amounts)
		}
		c := cure{words: fmt.Sprintf("a node is added with %s free, which is room for %d of the %d that start together", a.Kinds.Format(free), n, len(members)), on: newNode, alone: true}
		attributes := map[string]string{}
		if like != nil {
			attributes = maps.Clone(like.Attributes)
			c.words = fmt.Sprintf("in %s %s %s", level, attributes[level], c.words)
		}
		if c.as = []api.Command{api.AddNode{ID: newNode, Attributes: attributes, Capacity: free}}; !q.free {
			c.words += unasked
		}
		if list = append(list, c); n == len(members) {
			break
		}
	}
	return list
}

// roomiest is the first node of the domain that has room for the most members, where the group requires one, and the label of it.
func (a *Answer) roomiest(members []*api.AskView) (first *api.NodeView, level string) {
	if level = a.view.Groups[GroupOf(a.Allocation)].Terms.Require; level == "" {
		return nil, ""
	}
	firsts, room := map[string]*api.NodeView{}, map[string]int{}
	for _, n := range a.view.Nodes {
		domain := n.Attributes[level]
		if domain == "" || !n.Schedulable {
			continue
		}
		if firsts[domain] == nil {
			firsts[domain] = n
		}
		free := leftFor(n, a.ask)
		for _, ask := range members {
			if !ask.Amounts.FitsIn(free) {
				break
			}
			free = free.Minus(ask.Amounts)
			room[domain]++
		}
	}
	for _, domain := range slices.Sorted(maps.Keys(firsts)) {
		if first == nil || room[domain] > room[first.Attributes[level]] {
			first = firsts[domain]
		}
	}
	return first, level
}
