package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Remedies are what would make an ask fit that waits: all of Quota and one of Nodes, in
// words that follow "if". Quota is empty if no queue lacks any, and Nodes if a node has
// room for it. Both are empty of an ask that is nominated, or that nothing is known to
// keep away. What the resource manager would say of a node that it has not been asked about is
// not known, and Nodes say so. Other asks may be placed first.
type Remedies struct {
	Quota []string
	Nodes []string
}

// Sentence is the remedies as the end of a sentence; empty if there are none.
func (r Remedies) Sentence() string {
	parts := r.Quota
	if len(r.Nodes) > 0 {
		parts = append(slices.Clone(parts), strings.Join(r.Nodes, ", or "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "it would fit if " + strings.Join(parts, ", and ")
}

// unasked is said of nodes about which the resource manager has not been asked.
const unasked = "and the resource manager accepts it there"

func (a *Answer) remedies(view *api.View, ask *api.AskView) (r Remedies) {
	if ask.Nominated != "" {
		return r
	}
	for _, l := range a.Quota {
		if !l.Lacking.IsZero() {
			r.Quota = append(r.Quota, fmt.Sprintf("queue %s uses %s less, or its max is raised by that", l.Queue, a.Kinds.Format(l.Lacking)))
		}
	}
	if slices.ContainsFunc(a.Nodes, func(g Group) bool { return g.Why == HasRoom }) {
		return r
	}
	for _, g := range a.Nodes {
		if g.Why == Refused {
			r.Nodes = append(r.Nodes, "the resource manager accepts it on "+named(g))
		}
	}
	r.Nodes = append(r.Nodes, a.opened(view, ask)...)
	if nearest := nearestOf(a.Nodes); nearest != nil {
		n, _ := find(view.Nodes, nearest.Nearest, func(n *api.NodeView) api.NodeID { return n.ID })
		r.Nodes = append(r.Nodes, fmt.Sprintf("%s more becomes free on %s %s", a.Kinds.Format(short(ask.Amounts, leftFor(n, ask))), n.ID, unasked))
	}
	if len(r.Nodes) == 0 {
		r.Nodes = []string{fmt.Sprintf("%s is added with %s free %s", a.missing(view, ask), a.Kinds.Format(ask.Amounts), unasked)}
	}
	return r
}

// missing is the node that would have to be added.
func (a *Answer) missing(view *api.View, ask *api.AskView) string {
	if ask.Required == "" {
		return "a node"
	}
	if _, known := find(view.Nodes, ask.Required, func(n *api.NodeView) api.NodeID { return n.ID }); known {
		return fmt.Sprintf("node %s goes and one of that name", ask.Required)
	}
	return "node " + string(ask.Required)
}

// opened are the first node that takes nothing new, and the first that is kept for another ask, with
// room for this one.
func (a *Answer) opened(view *api.View, ask *api.AskView) (list []string) {
	told, refusals := map[Why]bool{}, refusalsOf(ask)
	for _, n := range view.Nodes {
		why, _, holder := firstReason(n, ask)
		if told[why] || !ask.Amounts.FitsIn(n.Available) || refusals.of(n) != "" {
			continue
		}
		switch {
		case why == Cordoned && ask.Amounts.FitsIn(leftFor(n, ask)):
			list = append(list, fmt.Sprintf("node %s takes new allocations again %s", n.ID, unasked))
		case (why == Reserved || why == Claimed) && ask.Amounts.FitsIn(leftFor(n, ask).Plus(keptFor(n, holder))):
			list = append(list, fmt.Sprintf("node %s is no longer kept for %s %s", n.ID, holder, unasked))
		default:
			continue
		}
		told[why] = true
	}
	return list
}

// leftFor is what a node has free for an ask beside what is kept for others.
func leftFor(n *api.NodeView, ask *api.AskView) resources.Amounts {
	kept, _, _ := keptForOthers(n, ask)
	return n.Available.Minus(kept)
}

// keptFor is what a node keeps for an ask that has reserved it.
func keptFor(n *api.NodeView, key api.AllocationKey) resources.Amounts {
	for i := range n.Reservations {
		if n.Reservations[i].Key == key {
			return n.Reservations[i].Amounts
		}
	}
	return nil
}

// short is what has to become free of the kinds that are asked for: more than is asked for
// where more is used than there is.
func short(ask, left resources.Amounts) resources.Amounts {
	var more resources.Amounts
	for i, asked := range ask {
		if lacking := asked - left.Of(resources.Kind(i)); asked > 0 && lacking > 0 {
			more.Set(resources.Kind(i), lacking)
		}
	}
	return more
}

// nearestOf is the group of the nearest node that lacks room, unless the resource manager
// has refused it.
func nearestOf(groups []Group) *Group {
	for i := range groups {
		g := &groups[i]
		if (g.Why == NoRoom || g.Why == KeptForNominated) && g.Text == "" {
			return g
		}
	}
	return nil
}

// named are the first few nodes of a group, in words.
func named(g Group) string {
	names := make([]string, len(g.First))
	for i, id := range g.First {
		names[i] = string(id)
	}
	if more := g.Nodes - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
