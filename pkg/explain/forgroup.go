package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// forGroup is more room for a group of which each member has room by itself, but not all that must start together: a node with
// room for one of them, for twice as many, and so on.
func (a *Answer) forGroup(q *questioner) (list []cure) {
	if a.Reason != api.AwaitsGang && a.Reason != api.GroupBelow {
		return nil
	}
	members := a.starting()
	like := a.roomiest()
	for n := 1; n > 0; n *= 2 {
		n = min(n, len(members))
		var free resources.Amounts
		for _, ask := range members[:n] {
			free.Add(ask.Amounts)
		}
		c := cure{words: fmt.Sprintf("a node is added with %s free", a.Kinds.Format(free)), on: newNode, alone: true}
		if len(members) > 1 {
			c.words += fmt.Sprintf(", which is room for %d of the %d that start together", n, len(members))
		}
		in, attributes := a.beside(like)
		c.words = in + c.words
		if c.as = []api.Command{api.AddNode{ID: newNode, Attributes: attributes, Capacity: free}}; !q.free {
			c.words += unasked
		}
		if list = append(list, c); n == len(members) {
			break
		}
	}
	return list
}

// beside is where a node would be that is added in the domain of another one, in words, and its attributes; empty for nil.
func (a *Answer) beside(like *api.NodeView) (in string, attributes map[string]string) {
	if like == nil {
		return "", nil
	}
	return fmt.Sprintf("in %s %s ", a.bounds[0].level, a.domainOf(like)), like.Attributes
}

// anew has all of a group that is below its minimum end and start anew: in another domain, if it is bound to the one in which members run, or
// divided among nodes in another way.
func (a *Answer) anew(ctx context.Context, t Trial, q *questioner) []cure {
	if a.Reason != api.GroupBelow {
		return nil
	}
	moves := a.tryMoves(ctx, t, moving{of: a.running()}, q)
	if len(moves) == 0 {
		return nil
	}
	c := cure{played: moved(a.view, moves)}
	c.words = fmt.Sprintf("what runs of %s ends, %s, and all start anew", a.ask.Tags[api.TagQuorum], wording.Several(len(moves), "member"))
	if len(a.bounds) > 0 {
		n, _ := find(a.view.Nodes, moves[0].To, func(n *api.NodeView) api.NodeID { return n.ID })
		c.words += fmt.Sprintf(" in %s %s", a.bounds[0].level, a.domainOf(n))
	}
	c.words += t.unaskedMoves()
	return []cure{c}
}

// running are the members of its group that run, if the ask is in one without placeholders.
func (a *Answer) running() (list []*api.Allocation) {
	quorum := a.ask.Tags[api.TagQuorum]
	if quorum == "" {
		return nil
	}
	for _, n := range a.view.Nodes {
		for _, m := range n.Allocations {
			if m.Tags[api.TagQuorum] == quorum {
				list = append(list, m)
			}
		}
	}
	return list
}

// roomiest is the first node of the domain that has room for the most of what must start at once, of those in which that may run; nil if it is bound to none.
func (a *Answer) roomiest() (first *api.NodeView) {
	if len(a.bounds) == 0 {
		return nil
	}
	members := a.starting()
	firsts, room := map[string]*api.NodeView{}, map[string]int{}
	for _, n := range a.view.Nodes {
		if a.isOutside(n) {
			continue
		}
		domain := a.domainOf(n)
		if firsts[domain] == nil {
			firsts[domain] = n
		}
		free := leftFor(n, a.ask)
		for _, ask := range members {
			if !n.Schedulable || !ask.Amounts.FitsIn(free) {
				break
			}
			free = free.Minus(ask.Amounts)
			room[domain]++
		}
	}
	for _, domain := range slices.Sorted(maps.Keys(firsts)) {
		if first == nil || room[domain] > room[a.domainOf(first)] {
			first = firsts[domain]
		}
	}
	return first
}
