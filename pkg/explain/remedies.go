package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Remedies are what makes an ask run that waits, all of Quota and one of Nodes, in words that
// follow "if". Each was tried on a copy of the partition, in which nothing else waits. Quota is empty if no
// queue lacks any, and Nodes if a node has room for it. Both are empty of an ask that is nominated,
// or that neither keeps away. Of nodes that the resource manager was not asked about, Nodes say
// that it must accept them. If Remains is not empty, nothing of that is enough: it says why
// the ask would still wait.
type Remedies struct {
	Quota   []string
	Nodes   []string
	Remains string
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
	sentence := strings.Join(parts, ", and ")
	if r.Remains != "" {
		return "none: it would still wait if " + sentence + "; " + r.Remains
	}
	return "it would fit if " + sentence
}

// unasked is said of nodes about which the resource manager has not been asked.
const unasked = " and the resource manager, which was not asked, accepts it there"

// A Trial is what remedies are tried with.
type Trial struct {
	Now time.Time
	// MayRun asks the resource manager; nil if it cannot be asked. Free says that it refuses
	// nothing.
	MayRun MayRun
	Free   bool
	// Without asks it whether an ask, or what takes the place of an allocation, may run on a node that some allocations have left; nil if it is
	// not asked.
	Without func(of api.AllocationKey, node api.NodeID, left []api.AllocationKey) (refused error)
	// Stays are allocations that do not move; nil for none but those that never do.
	Stays func(api.AllocationKey) bool
}

// Copy is a copy of a partition on which nothing is evicted and no node kept, and on which asks run where the resource manager lets them.
// Unasked, if not nil, is called where that was not asked.
func (t Trial) Copy(view *api.View, kinds *resources.Kinds, unasked func()) *core.Partition {
	still := *view
	still.Config.Preemption.Disabled = true
	feasible := func(key api.AllocationKey, node api.NodeID, _ bool) error {
		if t.Free {
			return nil
		}
		if t.MayRun != nil {
			if asked, refused := t.MayRun(key, node); asked {
				return refused
			}
		}
		if unasked != nil {
			unasked()
		}
		return nil
	}
	return core.Restore(api.Options{Kinds: kinds, Partition: view.Partition, Feasible: feasible, ReserveDelay: -1}, t.Now, &still)
}

// A cure is what might make an ask run on a node, or on any.
type cure struct {
	words string
	on    api.NodeID    // that it changes, or adds; empty if no node is to be changed
	as    []api.Command // what is done to the node
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
	q.withRoom(a.view)
	a.Nodes = groups(a.view, a.ask, q.told)
	quotas := a.quotaRemedies()
	cures := a.cures(q, len(quotas) > 0)
	q.alone = a.alone()
	a.tryCures(ctx, t, q, quotas, cures)
	if a.findMoves(ctx, t, q); len(a.Moves) > 0 {
		a.Remedies.add(quotas, t.moveWords(a.Moves, a.Opens))
	}
}

// add adds what was tried with some quotas, and is enough with these.
func (r *Remedies) add(quotas []string, words string) {
	if r.Remains != "" {
		*r = Remedies{}
	}
	if r.Quota = quotas; words != "" {
		r.Nodes = append(r.Nodes, words)
	}
}

// tryCures tries what might be done to nodes, each with all of the quotas.
func (a *Answer) tryCures(ctx context.Context, t Trial, q *questioner, quotas []string, cures []cure) {
	if len(quotas)+len(cures) == 0 {
		return
	}
	if len(cures) == 0 {
		cures = []cure{{}}
	}
	failed := Remedies{Quota: quotas}
	for _, c := range cures {
		on, remains := a.try(ctx, t.Now, c, q)
		switch {
		case on != "":
			a.Remedies.add(quotas, c.words)
		case remains != "":
			failed.Remains = remains
			if c.words != "" {
				failed.Nodes = append(failed.Nodes, c.words)
			}
		}
	}
	if len(a.Remedies.Quota)+len(a.Remedies.Nodes) == 0 && failed.Remains != "" {
		a.Remedies = failed
	}
}

// quotaRemedies are what queues lack, all of it.
func (a *Answer) quotaRemedies() (list []string) {
	for _, l := range a.Quota {
		if !l.Lacking.IsZero() {
			list = append(list, fmt.Sprintf("queue %s uses %s less, or its max is raised by that", l.Queue, a.Kinds.Format(l.Lacking)))
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
			return nil
		}
		if g.Why == Refused {
			list = append(list, cure{words: "the resource manager accepts it on " + named(g), accepted: true})
		}
	}
	list = append(list, a.opened(q)...)
	if nearest := a.nearest(q); nearest != nil {
		n, _ := find(a.view.Nodes, nearest.Nearest, func(n *api.NodeView) api.NodeID { return n.ID })
		more := short(a.ask.Amounts, leftFor(n, a.ask))
		list = append(list, cure{
			words: fmt.Sprintf("%s more becomes free on %s", a.Kinds.Format(more), n.ID) + q.suffix(n.ID),
			on:    n.ID, as: []api.Command{api.UpdateNode{ID: n.ID, Capacity: capacityFor(n, a.ask).Plus(more)}},
		})
	}
	if len(list) == 0 {
		list = []cure{a.missing(q)}
	}
	return list
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
		a.Nodes = groups(a.view, a.ask, q.told)
	}
}

// newNode is the name of a node that is added, if the ask may run on any.
const newNode = "a new node"

// missing is the node that would have to be added.
func (a *Answer) missing(q *questioner) cure {
	c := cure{words: "a node", on: newNode}
	if a.ask.Required != "" {
		c.words, c.on = "node "+string(a.ask.Required), a.ask.Required
		if _, known := find(a.view.Nodes, c.on, func(n *api.NodeView) api.NodeID { return n.ID }); known {
			c.words = fmt.Sprintf("node %s goes and one of that name", c.on)
			c.as = []api.Command{api.RemoveNode{ID: c.on}}
		}
	}
	c.as = append(c.as, api.AddNode{ID: c.on, Capacity: a.ask.Amounts.Clone()})
	c.words = fmt.Sprintf("%s is added with %s free", c.words, a.Kinds.Format(a.ask.Amounts))
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
		why, _, holder := firstReason(n, a.ask)
		if tried[why] || !a.ask.Amounts.FitsIn(n.Available) || refusals.of(n) != "" {
			continue
		}
		c := cure{on: n.ID}
		switch {
		case why == Cordoned && a.ask.Amounts.FitsIn(leftFor(n, a.ask)):
			c.words, c.as = fmt.Sprintf("node %s takes new allocations again", n.ID), []api.Command{api.UndrainNode{ID: n.ID}}
		case holder != "" && a.ask.Amounts.FitsIn(leftFor(n, a.ask).Plus(a.keptFor(n, holder))):
			c.words = fmt.Sprintf("node %s is no longer kept for %s", n.ID, holder)
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

// leftFor is what a node has free for an ask beside what is kept for others.
func leftFor(n *api.NodeView, ask *api.AskView) resources.Amounts {
	kept, _, _ := keptForOthers(n, ask)
	return n.Available.Minus(kept)
}

// capacityFor is the capacity of a node without what is kept for others than an ask: where nothing else waits,
// nothing is kept.
func capacityFor(n *api.NodeView, ask *api.AskView) resources.Amounts {
	kept, _, _ := keptForOthers(n, ask)
	return less(n.Capacity, kept)
}

// keptFor is what a node keeps for an ask that has reserved it, or for which room is made there.
func (a *Answer) keptFor(n *api.NodeView, key api.AllocationKey) resources.Amounts {
	for i := range n.Reservations {
		if n.Reservations[i].Key == key {
			return n.Reservations[i].Amounts
		}
	}
	for _, app := range a.view.Applications {
		if ask := askOf(app, key); ask != nil {
			return ask.Amounts
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
