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
	like, level := a.roomiest(members)
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
	if level := a.view.Groups[GroupOf(a.Allocation)].Terms.Require; level != "" {
		c.words += fmt.Sprintf(" in %s %s", level, a.domainOf(moves[0].To, level))
	}
	c.words += t.unaskedMoves()
	return []cure{c}
}

// domainOf is the domain of a node.
func (a *Answer) domainOf(node api.NodeID, level string) string {
	n, _ := find(a.view.Nodes, node, func(n *api.NodeView) api.NodeID { return n.ID })
	return n.Attributes[level]
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

// roomiest is the first node of the domain that has room for the most members, where the group requires one, and the label of it: of the one
// in which members run, if any do.
func (a *Answer) roomiest(members []*api.AskView) (first *api.NodeView, level string) {
	if level = a.view.Groups[GroupOf(a.Allocation)].Terms.Require; level == "" {
		return nil, ""
	}
	firsts, room, in := map[string]*api.NodeView{}, map[string]int{}, ""
	if running := a.running(); len(running) > 0 {
		in = a.domainOf(running[0].Node, level)
	}
	for _, n := range a.view.Nodes {
		domain := n.Attributes[level]
		if domain == "" || !n.Schedulable || in != "" && domain != in {
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
