package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// Remedies are what makes an ask run that waits, all of Quota and one of Nodes, in words that
// follow "if". Each was tried on a copy of the partition, in which all waits that waits now. Quota is empty if
// neither a queue nor a limit lacks any, and Nodes if a node has room for it. Both are empty of an ask that is nominated,
// or that neither keeps away. Of nodes that the resource manager was not asked about, Nodes say
// that it must accept them. If Remains is not empty, nothing of that is enough: it says why
// the ask would still wait.
type Remedies struct {
	Quota   []string
	Nodes   []string
	Remains string

	// Ahead is how many asks come before it, for which there is room then, too.
	Ahead int
	// Instead are what makes it run by itself, where Quota and Nodes are not enough.
	Instead []string
	// Untried says that the time was over before all was tried.
	Untried bool
}

// Sentence is the remedies as the end of a sentence; empty if there are none.
func (r Remedies) Sentence() string {
	sentence, nodes := strings.Join(r.Quota, ", and "), strings.Join(r.Nodes, ", or ")
	if sentence != "" && nodes != "" {
		sentence += "; and if "
	}
	sentence += nodes
	switch instead := strings.Join(r.Instead, ", or if "); {
	case sentence == "":
	case r.Remains == "" && r.Ahead > 0:
		sentence = "it runs if " + sentence + fmt.Sprintf("; that is room for %s before it, too", wording.Several(r.Ahead, "ask"))
	case r.Remains == "":
		sentence = "it runs if " + sentence
	case instead != "":
		sentence = "it runs if " + instead + "; it would still wait if " + sentence + ": " + r.Remains
	default:
		sentence = "none: it would still wait if " + sentence + "; " + r.Remains
	}
	switch {
	case !r.Untried:
	case sentence == "":
		sentence = "none was tried, as the time was over"
	default:
		sentence += "; more was not tried, as the time was over"
	}
	return sentence
}

// unasked is said of nodes about which the resource manager has not been asked.
const unasked = " and the resource manager, which was not asked, accepts it there"

// A cure is what might make an ask run on a node, or on any.
type cure struct {
	words string
	on    api.NodeID    // that it changes, or adds; empty if no node is to be changed
	as    []api.Command // what is done to the node where nothing else waits
	moves bool          // something runs elsewhere
	alone bool          // if it helps, those after it are not tried
	// more is the same with room for what comes before the ask, too; nil if there is no such thing.
	more func(before []earlier) cure
	// played is what is done where the others wait: if it is empty, the same.
	played []api.Command
	// accepted says that the resource manager accepts the ask on all nodes.
	accepted bool
}

// Try finds what would make the ask of an answer run, and puts the nodes that the resource manager
// refuses into groups of their own. It asks about so many nodes at most, and tries as long as
// the context lasts; what is not tried is not told. Each try takes time linear in the size
// of the view. It does nothing to an answer about an allocation.
func (a *Answer) Try(ctx context.Context, t Trial) {
	if a.ask == nil || a.ask.Nominated != "" {
		return
	}
	a.Lack.NoEviction = a.tooEarly(t.Now)
	q := &questioner{ask: a.ask, mayRun: t.MayRun, free: t.Free, told: map[api.NodeID]string{}}
	q.withRoom(a)
	a.Nodes = a.groups(q.told)
	quotas := a.quotaRemedies(nil)
	cures := a.cures(q, len(quotas) > 0)
	if len(cures) == 0 && len(quotas) > 0 {
		cures = []cure{{}}
	}
	q.alone = a.alone()
	helps := a.tryCures(ctx, t, q, quotas, cures)
	if a.findMoves(ctx, t, q); len(a.Moves) > 0 {
		helps = append(helps, t.moveCure(a.view, a.Moves, a.Opens))
	}
	helps = append(helps, a.anew(ctx, t, q)...)
	if len(helps) > 0 {
		a.Remedies = Remedies{} // what does not help is not told beside it
		a.play(ctx, t, q, helps)
	}
	a.Remedies.Untried = ctx.Err() != nil && a.Remedies.isOpen(cures)
}

// isOpen reports whether more might be found.
func (r *Remedies) isOpen(cures []cure) bool {
	return len(cures) > 0 && (r.Remains != "" && len(r.Instead) == 0 || len(r.Quota)+len(r.Nodes) == 0)
}

// tryCures tries what might be done to nodes, each with all of the quotas, where nothing else waits. It returns what
// helps there. If nothing does, it says why not.
func (a *Answer) tryCures(ctx context.Context, t Trial, q *questioner, quotas []string, cures []cure) (helps []cure) {
	failed := Remedies{Quota: quotas}
	for _, c := range cures {
		on, remains := a.try(ctx, t.Now, c, q)
		switch {
		case on != "" && c.alone:
			return append(helps, c)
		case on != "":
			helps = append(helps, c)
		case remains != "":
			failed.Remains = remains
			if c.words != "" {
				failed.Nodes = append(failed.Nodes, c.words)
			}
		}
	}
	if len(helps) == 0 && failed.Remains != "" {
		a.Remedies = failed
	}
	return helps
}

// quotaRemedies are what queues, users and groups lack for the ask and for what comes before it, all of it.
func (a *Answer) quotaRemedies(before []earlier) (list []string) {
	for _, l := range a.levels() {
		if l.isShort() {
			list = append(list, l.remedy(a.Kinds, a.moreFor(l, before)))
		}
	}
	return list
}

// cures are what might be done to nodes, if none has room and may be used. Lacks says that a queue lacks quota, too.
func (a *Answer) cures(q *questioner, lacks bool) (list []cure) {
	for _, g := range a.Nodes {
		if g.Why == HasRoom {
			if _, asked := q.about(g.Nearest); !asked && lacks {
				return []cure{{words: "the resource manager, which was not asked, accepts it on " + named(g), accepted: true}}
			}
			return a.forGroup(q)
		}
		if g.Why == Refused {
			list = append(list, cure{words: "the resource manager accepts it on " + named(g), accepted: true})
		}
	}
	list = append(list, a.opened(q)...)
	if nearest := a.nearest(q); nearest != nil {
		list = append(list, a.freeOn(nearest.Nearest, q, nil))
	}
	if len(list) == 0 {
		list = []cure{a.missing(q, nil)}
	}
	if a.Reason == api.AwaitsGang && len(a.starting()) > 1 {
		list = append(list, a.forGroup(q)...)
	}
	return list
}

// freeOn is more room on a node, for the ask and for what comes before it.
func (a *Answer) freeOn(id api.NodeID, q *questioner, before []earlier) cure {
	n, _ := find(a.view.Nodes, id, func(n *api.NodeView) api.NodeID { return n.ID })
	more := short(sumWith(a.ask.Amounts, before), leftFor(n, a.ask))
	return cure{
		words: fmt.Sprintf("%s more becomes free on %s", a.Kinds.Format(more), n.ID) + q.suffix(n.ID),
		on:    n.ID, more: func(before []earlier) cure { return a.freeOn(id, q, before) },
		as:     []api.Command{api.UpdateNode{ID: n.ID, Capacity: capacityFor(n, a.ask).Plus(more)}},
		played: []api.Command{api.UpdateNode{ID: n.ID, Capacity: n.Capacity.Plus(more)}},
	}
}

// suffix is what has to be added to a remedy if the resource manager was not asked about its node.
func (q *questioner) suffix(node api.NodeID) string {
	if _, asked := q.about(node); asked {
		return ""
	}
	return unasked
}

// nearest is the group of the nearest node that lacks room, of those that the resource
// manager does not refuse. It is asked about one after the other.
func (a *Answer) nearest(q *questioner) *Group {
	for {
		nearest := nearestOf(a.Nodes)
		if nearest == nil {
			return nil
		}
		if refusal, _ := q.about(nearest.Nearest); refusal == "" {
			return nearest
		}
		a.Nodes = a.groups(q.told)
	}
}

// newNode is the name of a node that is added, if the ask may run on any.
const newNode = "a new node"

// missing is the node that would have to be added, with room for what comes before the ask.
func (a *Answer) missing(q *questioner, before []earlier) cure {
	in, attributes := a.beside(a.roomiest())
	c := cure{words: in + "a node", on: newNode, more: func(before []earlier) cure { return a.missing(q, before) }}
	free := sumWith(a.ask.Amounts, before)
	if a.ask.Required != "" {
		c.words, c.on = "node "+string(a.ask.Required), a.ask.Required
		if _, known := find(a.view.Nodes, c.on, func(n *api.NodeView) api.NodeID { return n.ID }); known {
			c.words = fmt.Sprintf("node %s goes and one of that name", c.on)
			c.as = []api.Command{api.RemoveNode{ID: c.on}}
		}
	}
	c.as = append(c.as, api.AddNode{ID: c.on, Attributes: attributes, Capacity: free})
	c.words = fmt.Sprintf("%s is added with %s free", c.words, a.Kinds.Format(free))
	if !q.free {
		c.words += unasked
	}
	return c
}

// opened are the first node that takes nothing new, and the first that is kept for another ask, with
// room for this one.
func (a *Answer) opened(q *questioner) (list []cure) {
	tried, refusals := map[Why]bool{}, refusalsOf(a.ask, q.told)
	for _, n := range a.view.Nodes {
		why, _, holder := a.firstReason(n)
		if tried[why] || why == KeptForLost || !a.ask.Amounts.FitsIn(n.Available) || refusals.of(n) != "" {
			continue
		}
		c := cure{on: n.ID}
		switch {
		case why == Cordoned && a.ask.Amounts.FitsIn(leftFor(n, a.ask)):
			c.words, c.as = fmt.Sprintf("node %s takes new allocations again", n.ID), []api.Command{api.UndrainNode{ID: n.ID}}
		case holder != "" && a.ask.Amounts.FitsIn(leftFor(n, a.ask).Plus(a.keptFor(n, holder))):
			c.words = fmt.Sprintf("%s, for which node %s is kept, no longer waits", holder, n.ID)
			c.played = []api.Command{a.withoutAsk(holder)}
			c.as = []api.Command{api.UpdateNode{ID: n.ID, Capacity: capacityFor(n, a.ask).Plus(a.keptFor(n, holder))}}
		default:
			continue
		}
		if refusal, _ := q.about(n.ID); refusal == "" {
			c.words += q.suffix(n.ID)
			list, tried[why] = append(list, c), true
		}
	}
	return list
}

// withoutAsk takes an ask out of the line.
func (a *Answer) withoutAsk(key api.AllocationKey) api.Command {
	for _, app := range a.view.Applications {
		if app.Ask(key) != nil {
			return api.ReleaseAllocation{Application: app.ID, Key: key}
		}
	}
	return api.ReleaseAllocation{Key: key}
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
