package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// View is the partition as it is now. Each object keeps its own view until it
// changes, so that a view costs a pointer for each object and the work for
// those that changed. Priorities of queues are as of the last Schedule.
func (p *Partition) View() *api.View {
	v := &api.View{
		Name: p.name, Config: p.config, Partition: p.options.Partition,
		Capacity: p.capacity.Clone(), Used: p.root.used.Clone(), Occupied: p.occupied.Clone(),
		Root:         p.viewQueue(p.root),
		Nodes:        make([]*api.NodeView, 0, p.nodes.Len()),
		Applications: make([]*api.ApplicationView, 0, p.applications.Len()),
		Preempted:    p.counts,
		ReserveDelay: p.options.ReserveDelay,
		Work:         p.work,
		SettlesAt:    p.settling.end(),
	}
	p.nodes.Ascend(func(n *node) bool {
		v.Nodes = append(v.Nodes, n.viewed())
		return true
	})
	p.applications.Ascend(func(app *application) bool {
		v.Applications = append(v.Applications, p.viewApplication(app))
		return true
	})
	v.ForeignUnknownNode = p.viewUnplaced()
	for name, g := range p.together {
		if of := g.viewed(); of != (api.GroupView{}) {
			if v.Groups == nil {
				v.Groups = map[string]api.GroupView{}
			}
			v.Groups[name] = of
		}
	}
	return v
}

func (p *Partition) viewQueue(q *queue) *api.QueueView {
	if q.view != nil {
		return q.view
	}
	q.view = &api.QueueView{
		Path: q.path, Leaf: q.leaf, Draining: q.draining, Dynamic: q.dynamic, WasDynamic: q.wasDynamic, Quota: q.quota,
		Max: q.max.Clone(), Guaranteed: q.guaranteed.Clone(), Used: q.used.Clone(), Pending: q.pending.Clone(),
		Nominated: q.nominated.Clone(), Releasing: q.releasing.Clone(),
		Share: p.ofQueue(q).share(), Priority: p.ofQueue(q).own.top,
		Properties: q.properties, Applications: len(q.applications),
		ApplicationsMax: q.applicationsMax, Counted: q.account.applications,
	}
	if e := p.quotas.beyond[q]; e != nil {
		q.view.OverMaxSince, q.view.QuotaPlan, q.view.QuotaPlanned = e.since, e.plan, e.planned
	}
	for _, child := range q.sortedChildren() {
		q.view.Queues = append(q.view.Queues, p.viewQueue(child))
	}
	return q.view
}

// viewApplication is the view of an application. With asks, it holds only as long as nothing new
// is learnt about what fits.
func (p *Partition) viewApplication(a *application) *api.ApplicationView {
	learnt := p.rooms.learnt
	if len(a.asks) > 0 {
		for _, account := range a.accounts() {
			for ; account != nil; account = account.parent {
				learnt = max(learnt, account.changed)
			}
		}
	}
	if a.view != nil && (len(a.asks) == 0 || a.viewedAt == learnt) {
		return a.view
	}
	a.viewedAt = learnt
	a.view = &api.ApplicationView{
		ID: a.id, Queue: a.queue.path, User: a.user, Groups: a.groups, Tags: a.tags,
		Group: a.group(), Ran: a.ran, Counts: a.counts,
		State: a.state, Since: a.since, Submitted: a.submitted,
		Used: a.used.Clone(), Pending: a.pending.Clone(),
		Allocations: allocations(a.allocations),
		Asks:        p.viewAsks(a),
		Gang:        a.viewGang(),
	}
	if a.backsOff() {
		a.view.BackoffUntil = a.failures.backoff.until
	}
	return a.view
}

// viewAsks is the asks with the reasons why they wait. Asks of one class that only wait
// for their turn share the reasons.
func (p *Partition) viewAsks(a *application) []api.AskView {
	out := make([]api.AskView, len(a.asks))
	shared := map[*class]*api.Waiting{}
	for i, r := range a.asks {
		out[i].Allocation = r.Allocation
		if r.wait != nil {
			out[i].Waiting = p.waitsFor(r)
			continue
		}
		if shared[p.classOf(r)] == nil {
			shared[p.classOf(r)] = p.waitsFor(r)
		}
		out[i].Waiting = shared[p.classOf(r)]
	}
	return out
}
