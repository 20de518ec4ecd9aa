package core_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A world is a view that may be changed: what a naive twin believes of the
// partition while the effects of one call of Schedule are gone through.
type world struct {
	naive
	nodes    map[api.NodeID]*api.NodeView
	apps     map[api.ApplicationID]*api.ApplicationView
	queues   map[api.QueuePath]*api.QueueView
	parents  map[api.QueuePath]*api.QueueView
	priority api.PriorityPreemption
	disabled bool
	byQoS    bool
	now      time.Time
}

// worldOf copies what a twin changes of a view.
func worldOf(v *api.View, n naive) *world {
	copied := *v
	w := &world{
		naive: n, nodes: map[api.NodeID]*api.NodeView{}, apps: map[api.ApplicationID]*api.ApplicationView{},
		queues: map[api.QueuePath]*api.QueueView{}, parents: map[api.QueuePath]*api.QueueView{},
	}
	copied.Nodes = slices.Clone(v.Nodes)
	for i, node := range copied.Nodes {
		c := *node
		c.Available, c.NominatedAmounts = node.Available.Clone(), node.NominatedAmounts.Clone()
		c.Allocations, c.Evictions, c.Nominated = slices.Clone(node.Allocations), slices.Clone(node.Evictions), slices.Clone(node.Nominated)
		copied.Nodes[i], w.nodes[node.ID] = &c, &c
	}
	copied.Applications = slices.Clone(v.Applications)
	for i, app := range copied.Applications {
		c := *app
		c.Used, c.Asks, c.Allocations = app.Used.Clone(), slices.Clone(app.Asks), slices.Clone(app.Allocations)
		for i, ask := range c.Asks {
			waiting := *ask.Waiting
			c.Asks[i].Waiting = &waiting
		}
		copied.Applications[i], w.apps[app.ID] = &c, &c
	}
	copied.Root = w.copyQueue(v.Root)
	w.view = &copied
	return w
}

func (w *world) copyQueue(q *api.QueueView) *api.QueueView {
	c := *q
	c.Used, c.Nominated, c.Releasing = q.Used.Clone(), q.Nominated.Clone(), q.Releasing.Clone()
	c.Queues = make([]*api.QueueView, len(q.Queues))
	for i, child := range q.Queues {
		c.Queues[i] = w.copyQueue(child)
		w.parents[child.Path] = &c
	}
	w.queues[q.Path] = &c
	return &c
}

// upFrom lists a queue and those above it.
func (w *world) upFrom(path api.QueuePath) (list []*api.QueueView) {
	for q := w.queues[path]; q != nil; q = w.parents[q.Path] {
		list = append(list, q)
	}
	return list
}

func (w *world) queueOf(a *api.Allocation) api.QueuePath { return w.apps[a.Application].Queue }

// ask finds an ask by its key.
func (w *world) ask(key api.AllocationKey) *api.AskView {
	for _, app := range w.apps {
		for i := range app.Asks {
			if app.Asks[i].Key == key {
				return &app.Asks[i]
			}
		}
	}
	return nil
}

// allocation finds one that runs.
func (w *world) allocation(key api.AllocationKey) *api.Allocation {
	for _, n := range w.view.Nodes {
		for _, a := range n.Allocations {
			if a.Key == key {
				return a
			}
		}
	}
	return nil
}

func evictionOn(n *api.NodeView, key api.AllocationKey) *api.Eviction {
	for i := range n.Evictions {
		if n.Evictions[i].Key == key {
			return &n.Evictions[i]
		}
	}
	return nil
}

// releasingOn is what allocations hold on a node that are being evicted and are not
// overdue.
func releasingOn(n *api.NodeView) (sum resources.Amounts) {
	for _, list := range [2][]*api.Allocation{n.Allocations, n.ForeignAllocations} {
		for _, a := range list {
			if l := evictionOn(n, a.Key); l != nil && !l.Overdue {
				sum.Add(a.Amounts)
			}
		}
	}
	return sum
}

// rootPriority is the priority of an ask as the root sees it.
func (w *world) rootPriority(ask *api.AskView) int32 {
	value := ask.Priority
	for _, q := range w.upFrom(w.queueOf(ask.Allocation)) {
		if q.Properties.PriorityFence {
			value = 0
		}
		value += q.Properties.PriorityOffset
	}
	return value
}

// keepsFrom reports whether what is kept for an ask is kept from another one.
func (w *world) keepsFrom(kept, ask *api.AskView) bool {
	return w.rootPriority(kept) >= w.rootPriority(ask)
}

// before orders asks that room is kept for, the first to get it first.
func (w *world) before(a, b *api.AskView) int {
	return cmp.Or(cmp.Compare(w.rootPriority(b), w.rootPriority(a)), inOrder(a, b))
}

// roomFor is what is free beside what is kept for asks of at least a priority, as the
// root sees it.
func (w *world) roomFor(n *api.NodeView, rootPriority int32) resources.Amounts {
	room := n.Available.Clone()
	for _, key := range n.Nominated {
		if other := w.ask(key); w.rootPriority(other) >= rootPriority {
			room.Sub(other.Amounts)
		}
	}
	return room
}

// roomForAsk is what is free beside what is kept from an ask that is not nominated.
func (w *world) roomForAsk(n *api.NodeView, ask *api.AskView) resources.Amounts {
	room := n.Available.Clone()
	for _, key := range n.Nominated {
		if other := w.ask(key); w.keepsFrom(other, ask) {
			room.Sub(other.Amounts)
		}
	}
	return room
}

// short is the queues on the way to the root, the lowest first, that have no
// quota for an ask.
func (w *world) short(ask *api.AskView) (list []*api.QueueView) {
	for _, q := range w.upFrom(w.queueOf(ask.Allocation)) {
		if !w.holds(q, ask, false).IsZero() {
			list = append(list, q)
		}
	}
	return list
}

// quotaToFree is what is still short of quota once all evictions have ended.
func (w *world) quotaToFree(ask *api.AskView) (lack resources.Amounts) {
	for _, q := range w.upFrom(w.queueOf(ask.Allocation)) {
		lack.Raise(w.holds(q, ask, true))
	}
	return lack
}

// freesQuota reports whether the end of some allocations frees what each queue on the way to the
// root is still short of.
func (w *world) freesQuota(ask *api.AskView, gone []*api.Allocation) bool {
	for _, q := range w.upFrom(w.queueOf(ask.Allocation)) {
		var sum resources.Amounts
		for _, a := range gone {
			if w.isWithin(a, q) {
				sum.Add(a.Amounts)
			}
		}
		if !w.holds(q, ask, true).FitsIn(sum) {
			return false
		}
	}
	return true
}

func (w *world) isWithin(a *api.Allocation, q *api.QueueView) bool {
	return slices.Contains(w.upFrom(w.queueOf(a)), q)
}

// holds is what a queue has too little of for an ask.
func (w *world) holds(q *api.QueueView, ask *api.AskView, later bool) (lack resources.Amounts) {
	kept := q.Nominated.Clone()
	for _, app := range w.apps {
		for i := range app.Asks {
			if other := &app.Asks[i]; slices.Contains(w.upFrom(app.Queue), q) && (w.yields(other, ask) || !later && w.isEqual(other, ask)) {
				kept.Sub(other.Amounts)
			}
		}
	}
	for i, asked := range ask.Amounts {
		kind := resources.Kind(i)
		wanted := q.Used.Of(kind) + kept.Of(kind)
		if ask.Nominated == "" {
			wanted += asked
		}
		if later {
			wanted -= q.Releasing.Of(kind)
		}
		if most := q.Max.Of(kind); asked > 0 && most != resources.Unlimited && wanted > most {
			lack.Set(kind, wanted-most)
		}
	}
	return lack
}

// yields reports whether what is kept for an ask is not kept from another one, which is
// more important and came later.
func (w *world) yields(kept, ask *api.AskView) bool {
	return (kept.Nominated != "" || w.keepsQuota(kept)) && !w.keepsFrom(kept, ask)
}

// isEqual reports whether quota is kept for two other asks that are equally important: neither waits
// for what is evicted for the other.
func (w *world) isEqual(kept, ask *api.AskView) bool {
	keeps := func(a *api.AskView) bool { return a.Nominated != "" || w.keepsQuota(a) }
	return kept.Key != ask.Key && keeps(kept) && keeps(ask) && w.rootPriority(kept) == w.rootPriority(ask)
}

// An action is something done for an ask, as the effects tell it.
type action struct {
	what    string // place, nominate, clear, or end for victims of no nomination
	key     api.AllocationKey
	node    api.NodeID
	victims []api.AllocationKey // by key
	by      preemptor.Trigger   // of the victims or the nomination
}

func (d action) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %v", d.what, d.key, d.node, d.victims))
}

// actionsOf reads effects. Victims come after the nomination that they make room for.
func actionsOf(fx api.Effects) (list []action, err error) {
	for _, e := range fx {
		switch e := e.(type) {
		case api.Placed:
			list = append(list, action{what: "place", key: e.Key, node: e.Allocation.Node})
		case *api.ClaimEnded:
			switch {
			case e.Nominated && e.End != api.EndPlaced: // the ask may be gone: that of a placeholder which times out
				list = append(list, action{what: "clear", key: e.Key})
			case e.Required != "":
				list = append(list, action{what: "unreserve", key: e.Key})
			}
		case *api.Claimed:
			if e.Plan != nil {
				list = append(list, action{what: "nominate", key: e.Key, node: e.Node, by: e.Plan.Trigger})
			}
		case *api.EvictionRequested:
			last := len(list) - 1
			if last < 0 || list[last].what != "nominate" {
				return nil, fmt.Errorf("%s is evicted for no ask", e.Key)
			}
			list[last].victims = append(list[last].victims, e.Key)
		}
	}
	for _, d := range list {
		slices.Sort(d.victims)
	}
	return list, nil
}

// do changes the world as an action does.
func (w *world) do(d action) {
	w.evict(d)
	if d.what == "end" || d.what == "dismiss" {
		return
	}
	ask, n := w.ask(d.key), w.nodes[d.node]
	path := w.queueOf(ask.Allocation)
	if d.what == "unreserve" {
		if w.keepsQuota(ask) {
			for _, q := range w.upFrom(path) {
				q.Nominated.Sub(ask.Amounts)
			}
		}
		ask.Reserved = ""
		for _, n := range w.view.Nodes {
			n.Reservations = slices.DeleteFunc(slices.Clone(n.Reservations), func(held api.Reservation) bool { return held.Key == d.key })
		}
		return
	}
	if d.what == "nominate" {
		ask.Nominated, ask.Trigger = d.node, d.by
		n.Nominated = append(n.Nominated, d.key)
		slices.SortStableFunc(n.Nominated, func(a, b api.AllocationKey) int { return w.before(w.ask(a), w.ask(b)) })
		for _, q := range w.upFrom(path) {
			q.Nominated.Add(ask.Amounts)
		}
		return
	}
	if was := w.nodes[ask.Nominated]; was != nil {
		was.Nominated = slices.DeleteFunc(was.Nominated, func(key api.AllocationKey) bool { return key == d.key })
		for _, q := range w.upFrom(path) {
			q.Nominated.Sub(ask.Amounts)
		}
		ask.Nominated = ""
	}
	if d.what == "place" {
		if w.keepsQuota(ask) {
			for _, q := range w.upFrom(path) {
				q.Nominated.Sub(ask.Amounts)
			}
		}
		w.place(ask, n)
	}
}

// keepsQuota reports whether quota is kept for an ask with a required node, since room is on
// its way there.
func (w *world) keepsQuota(ask *api.AskView) bool {
	return ask.Required != "" && ask.Reserved != "" && ask.Plan != nil &&
		(ask.Plan.Reason == preemptor.Chosen || ask.Plan.Reason == preemptor.WaitsForReleasing || ask.Plan.Reason == preemptor.RoomIsThere)
}

// promise takes from a later view what actions do not tell, before anything else is done:
// for which asks with a required node quota is kept, since room is on its way there.
func (w *world) promise(later *api.View) {
	for _, app := range later.Applications {
		for i := range app.Asks {
			is := &app.Asks[i]
			was := w.ask(is.Key)
			if was == nil || was.Application != is.Application {
				continue
			}
			if !w.keepsQuota(is) || w.keepsQuota(was) {
				continue
			}
			was.Reserved, was.Plan = is.Reserved, is.Plan
			for _, q := range w.upFrom(app.Queue) {
				q.Nominated.Add(is.Amounts)
			}
		}
	}
}

// evict marks the victims of an action as evicted; foreign ones are of no queue.
func (w *world) evict(d action) {
	for _, n := range w.view.Nodes {
		for _, list := range [2][]*api.Allocation{n.Allocations, n.ForeignAllocations} {
			for _, a := range list {
				if !slices.Contains(d.victims, a.Key) {
					continue
				}
				n.Evictions = append(n.Evictions, api.Eviction{Key: a.Key})
				if !a.IsForeign() {
					for _, q := range w.upFrom(w.queueOf(a)) {
						q.Releasing.Add(a.Amounts)
					}
				}
			}
		}
	}
}

// isEvicted reports whether an allocation is being evicted.
func (w *world) isEvicted(key api.AllocationKey) bool {
	return slices.ContainsFunc(w.view.Nodes, func(n *api.NodeView) bool { return evictionOn(n, key) != nil })
}

func (w *world) place(ask *api.AskView, n *api.NodeView) {
	app, a := w.apps[ask.Application], *ask.Allocation
	a.Node = n.ID
	n.Allocations = append(n.Allocations, &a)
	n.Available.Sub(a.Amounts)
	app.Used.Add(a.Amounts)
	for _, q := range w.upFrom(app.Queue) {
		q.Used.Add(a.Amounts)
	}
	app.Asks = slices.DeleteFunc(app.Asks, func(other api.AskView) bool { return other.Key == a.Key })
}
