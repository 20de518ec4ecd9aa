package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// groups puts every node into the group of the first reason that keeps the ask
// from it. Groups come in the order of the reasons; none is empty. Told is what the resource
// manager says of nodes now, as far as it was asked.
func (a *Answer) groups(told map[api.NodeID]string) []Group {
	ask := a.ask
	var all [whys]Group
	var least [whys]resources.Share
	var first [whys][]api.NodeID
	said := refusalsOf(ask, told)
	for _, n := range a.view.Nodes {
		why, there, holder := a.firstReason(n)
		g := &all[why]
		missing, refusal := largest(ask.Amounts, there), said.of(n)
		if g.Nodes == 0 || there != nil && isNearer(missing, refusal, least[why], g.Text) {
			*g = Group{Why: why, Nodes: g.Nodes, Nearest: n.ID, For: holder, Text: refusal}
			least[why] = missing
			if there != nil {
				g.Lacking = lacks(ask.Amounts, there)
			}
			if holder != "" {
				g.Free = alike(n.Available, g.Lacking)
			}
		}
		g.Nodes++
		if len(first[why]) < firstShown {
			first[why] = append(first[why], n.ID)
		}
	}
	var list []Group
	for why, g := range all {
		switch g.First = first[why]; {
		case g.Nodes == 0:
		case g.Why == HasRoom && (ask.Reason == api.Infeasible || len(ask.Refusals) > 0):
			list = append(list, refused(g, ask)...)
		case g.Why == HasRoom && len(told) > 0:
			list = append(list, a.refusedNow(told)...)
		case g.Why == OtherDomain:
			g.Text = a.domains()
			list = append(list, g)
		case g.Lacking == nil: // no node is named as the nearest
			g.Text = ""
			list = append(list, g)
		default:
			list = append(list, g)
		}
	}
	return list
}

// isNearer reports whether a node is nearer to taking an ask than another, by what the ask
// lacks there and what the resource manager said of the node. One that it did not refuse is
// always nearer.
func isNearer(missing resources.Share, refusal string, than resources.Share, thanRefusal string) bool {
	if (refusal == "") != (thanRefusal == "") {
		return refusal == ""
	}
	return missing.Compare(than) < 0
}

// refusals are what the resource manager said of nodes on which it refused an ask, as far
// as that is known: the nodes that it named for each reason, those that it refused
// whatever ends there, the nearest of attempts, and those that it was asked about now.
type refusals struct {
	ask   *api.AskView
	texts map[api.NodeID]string
}

func refusalsOf(ask *api.AskView, told map[api.NodeID]string) refusals {
	said := refusals{ask, map[api.NodeID]string{}}
	maps.Copy(said.texts, told)
	for _, r := range ask.Refusals {
		for _, id := range r.First {
			said.texts[id] = r.Text
		}
	}
	for _, a := range ask.Attempts {
		if a.Plan != nil && a.Plan.Reason == preemptor.Refused {
			said.texts[a.Node] = a.Plan.Refusal
		}
	}
	return said
}

// of is what it said of a node; empty if nothing is known.
func (s refusals) of(n *api.NodeView) string {
	if text := s.texts[n.ID]; text != "" {
		return text
	}
	if s.ask.RefusedForGood(n) {
		return "refused whatever ends there"
	}
	return ""
}

// firstShown is how many nodes of a group are named.
const firstShown = 3

// refused are the nodes with room, one group for each reason for which the resource manager
// refused them. Where nodes have changed since it was asked, they are one group with all of
// what it said: of which nodes it said what is not known any more.
func refused(room Group, ask *api.AskView) (list []Group) {
	nodes, texts := 0, []string(nil)
	for _, r := range ask.Refusals {
		list = append(list, Group{Why: Refused, Nodes: r.Nodes, Nearest: r.First[0], First: r.First, Text: r.Text})
		nodes, texts = nodes+r.Nodes, append(texts, r.Text)
	}
	if nodes == room.Nodes {
		return list
	}
	room.Why, room.Text = Refused, strings.Join(texts, "; ")
	if len(texts) == 0 {
		room.Text = ask.Detail
	}
	return []Group{room}
}

// firstReason is the first reason that keeps an ask from a node, what there is
// instead of what it asks for, if that is the reason, and the ask that the node is
// kept for.
func (a *Answer) firstReason(n *api.NodeView) (Why, resources.Amounts, api.AllocationKey) {
	ask, free := a.ask, n.Available
	switch {
	case ask.Required != "" && ask.Required != n.ID:
		return OtherNode, nil, ""
	case a.isOutside(n):
		return OtherDomain, nil, ""
	case !n.Schedulable && ask.Required == "":
		return Cordoned, nil, ""
	case !ask.Amounts.FitsIn(n.Capacity):
		return TooSmall, n.Capacity, ""
	}
	kept, why, holder := keptForOthers(n, ask)
	if !ask.Amounts.FitsIn(free) {
		return NoRoom, free.Minus(kept), ""
	}
	if left := free.Minus(kept); !ask.Amounts.FitsIn(left) {
		return why, left, holder
	}
	return HasRoom, nil, ""
}

// keptForOthers is what a node keeps for asks other than one, and for the first of them and why: for
// one that must run there, for one that waits long, or for one for which room is made. Where it is kept for that one, too,
// others that wait long keep nothing from it: which of them runs is a matter of the order.
func keptForOthers(n *api.NodeView, ask *api.AskView) (kept resources.Amounts, why Why, holder api.AllocationKey) {
	why = HasRoom
	keep := func(key api.AllocationKey, amounts resources.Amounts, by Why) {
		if key == ask.Key {
			return
		}
		kept.Add(amounts)
		if holder == "" || by == Claimed && why != Claimed {
			why, holder = by, key
		}
	}
	own := slices.ContainsFunc(n.Reservations, func(r api.Reservation) bool { return r.Key == ask.Key })
	for _, r := range n.Reservations {
		by := Reserved
		switch {
		case r.Required:
			by = Claimed
		case r.Lost != nil:
			by = KeptForLost
		case own:
			continue
		}
		keep(r.Key, r.Amounts, by)
	}
	others := n.NominatedAmounts
	for _, key := range n.Nominated {
		if key == ask.Key {
			others = others.Minus(ask.Amounts)
		} else if holder == "" {
			why, holder = KeptForNominated, key
		}
	}
	return kept.Plus(others), why, holder
}

// lacks is what is asked for and not there.
func lacks(ask, there resources.Amounts) resources.Amounts {
	var lacking resources.Amounts
	for i, short := range ask.Shortfall(there) {
		if short > 0 && ask.Of(resources.Kind(i)) > 0 {
			lacking.Set(resources.Kind(i), min(short, ask.Of(resources.Kind(i))))
		}
	}
	return lacking
}

// alike is amounts of the kinds of others.
func alike(of, kinds resources.Amounts) (some resources.Amounts) {
	for i, quantity := range kinds {
		if quantity > 0 {
			some.Set(resources.Kind(i), max(of.Of(resources.Kind(i)), 0))
		}
	}
	return some
}

// largest is the largest part of what is asked for that is not there, which is more than all where more is kept for others
// than there is; nothing where nothing is said of what there is.
func largest(ask, there resources.Amounts) resources.Share {
	var most resources.Share
	if there == nil {
		return most
	}
	for i, asked := range ask {
		short := asked - there.Of(resources.Kind(i))
		if asked <= 0 || short <= 0 {
			continue
		}
		if share := (resources.Share{Part: short, Whole: asked}); share.Compare(most) > 0 {
			most = share
		}
	}
	return most
}
