package core

import (
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// View is the partition as it is now. Each object keeps its own view until it
// changes, so that a view costs a pointer for each object and the work for
// those that changed.
func (p *Partition) View() *View {
	if p.sharesStale {
		p.remeasure()
	}
	v := &View{
		Name: p.name, Config: p.config, Partition: p.options.Partition,
		Capacity: p.capacity.Clone(), Used: p.root.used.Clone(), Occupied: p.occupied.Clone(),
		Root:         p.viewQueue(p.root),
		Nodes:        make([]*NodeView, 0, p.nodes.Len()),
		Applications: make([]*ApplicationView, 0, p.applications.Len()),
		Preempted:    p.preempted,
		Work:         p.work,
	}
	p.nodes.Ascend(func(n *node) bool {
		v.Nodes = append(v.Nodes, n.viewed())
		return true
	})
	p.applications.Ascend(func(app *application) bool {
		v.Applications = append(v.Applications, app.viewed(p.shapes.learnt))
		return true
	})
	for _, waiting := range p.homeless {
		v.ForeignUnknownNode = append(v.ForeignUnknownNode, allocations(waiting)...)
	}
	sortByKey(v.ForeignUnknownNode, func(a *Allocation) AllocationKey { return a.Key })
	return v
}

func allocations(list []*request) []*Allocation {
	out := make([]*Allocation, len(list))
	for i, r := range list {
		out[i] = r.Allocation
	}
	return out
}

func (n *node) viewed() *NodeView {
	if n.view != nil {
		return n.view
	}
	n.view = &NodeView{
		ID: n.id, Attributes: n.attributes, Schedulable: n.schedulable,
		Capacity: n.capacity.Clone(), Allocated: n.allocated.Clone(), Occupied: n.occupied.Clone(), Available: n.free.Clone(),
		Allocations: allocations(n.own), ForeignAllocations: allocations(n.foreign),
	}
	for _, r := range n.wanted {
		if held := r.reservation(); held != nil {
			n.view.Reservations = append(n.view.Reservations, *held)
		}
	}
	if n.reserved != nil {
		n.view.Reservations = append(n.view.Reservations, *n.reserved.reservation())
	}
	for _, r := range n.nominated {
		n.view.Nominated = append(n.view.Nominated, r.Key)
	}
	n.view.NominatedAmounts = n.promised.Clone()
	for _, list := range [2][]*request{n.own, n.foreign} {
		for _, r := range list {
			if g := r.going; g != nil {
				n.view.Evictions = append(n.view.Evictions, Eviction{
					Key: r.Key, For: g.ask, Since: g.since, Overdue: g.stuck, Trigger: g.trigger, Class: g.class,
				})
			}
		}
	}
	slices.SortFunc(n.view.Evictions, func(a, b Eviction) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return n.view
}

func (p *Partition) viewQueue(q *queue) *QueueView {
	if q.view != nil {
		return q.view
	}
	priority := int32(PriorityNone)
	if q.waits() {
		priority = q.gather().top
	}
	q.view = &QueueView{
		Path: q.path, Leaf: q.leaf, Draining: q.draining,
		Max: q.max.Clone(), Guaranteed: q.guaranteed.Clone(), Used: q.used.Clone(), Pending: q.pending.Clone(),
		Nominated: q.promised.Clone(), Releasing: q.leaving.Clone(),
		OverMaxSince: q.excess.since, QuotaPlan: q.excess.plan, QuotaPlanned: q.excess.planned,
		Share: q.share(), Priority: priority,
		Properties: q.properties, Applications: len(q.applications),
	}
	for _, child := range q.sortedChildren() {
		q.view.Queues = append(q.view.Queues, p.viewQueue(child))
	}
	return q.view
}

// viewed is the view of an application. That of one with asks holds only as long
// as nothing new is learnt about what fits.
func (a *application) viewed(learnt uint64) *ApplicationView {
	if a.view != nil && (len(a.asks) == 0 || a.learnt == learnt) {
		return a.view
	}
	v := &ApplicationView{
		ID: a.id, Queue: a.queue.path, User: a.user, Groups: a.groups, Tags: a.tags,
		State: a.state, Since: a.since, Submitted: a.submitted,
		Used: a.used.Clone(), Pending: a.pending.Clone(),
		Allocations: allocations(a.allocations),
		Asks:        a.viewAsks(),
	}
	a.view, a.learnt = v, learnt
	return v
}

// viewAsks is the asks with why they wait. Those that only wait for their turn wait
// for the same, shape by shape.
func (a *application) viewAsks() []AskView {
	out := make([]AskView, len(a.asks))
	shared := map[*shape]*Waiting{}
	for i, r := range a.asks {
		out[i].Allocation = r.Allocation
		if r.wait != nil {
			out[i].Waiting = r.waitsFor()
			continue
		}
		if shared[r.shape] == nil {
			shared[r.shape] = r.waitsFor()
		}
		out[i].Waiting = shared[r.shape]
	}
	return out
}

// waitsFor says why an ask waits. What was learnt from another of its shape holds
// for it too.
func (r *request) waitsFor() *Waiting {
	v := new(Waiting)
	w := r.wait
	if held := r.reservation(); held != nil {
		v.Reserved = held.Node
	}
	if w != nil {
		v.Plan, v.Planned, v.Attempts = w.plan, w.plannedAt, w.hunts
	}
	if c := r.application.queue.hunts[r.shape]; c != nil && !c.eager && v.Attempts == nil {
		v.Attempts = c.last
	}
	if nominated := r.nominated(); nominated != nil {
		v.Nominated, v.Trigger = nominated.node.id, nominated.trigger
		v.Reason, v.Detail = RoomIsMade, string(nominated.node.id)
		return v
	}
	over := r.overQueue()
	switch {
	case w != nil && w.loop != "":
		v.Reason, v.Detail = LoopStopped, w.loop
	case w != nil && (w.aside || r.Required != ""):
		v.Reason, v.Detail = w.reason, w.detail
	case over != nil:
		v.Reason, v.Detail = QuotaExceeded, string(over.path)
	case r.shape.full:
		v.Reason = NoNodeFits
	case w != nil && w.tries == 0:
		v.Reason, v.Detail = w.reason, w.detail
	}
	return v
}

// Headroom is what may still be charged to a queue, counting the queues above
// it; it says false if there is no such queue.
func (v *View) Headroom(path QueuePath) (resources.Limits, bool) {
	q, left := v.Root, v.Root.Max.Minus(v.Root.Used)
	for q.Path != path {
		i := slices.IndexFunc(q.Queues, func(child *QueueView) bool {
			return child.Path == path || strings.HasPrefix(string(path), string(child.Path)+".")
		})
		if i < 0 {
			return nil, false
		}
		q = q.Queues[i]
		left = left.Least(q.Max.Minus(q.Used))
	}
	return left, true
}
