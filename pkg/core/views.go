package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// View is the partition as it is now. Each object keeps its own view until it
// changes, so that a view costs a pointer for each object and the work for
// those that changed. Priorities of queues are as of the last Schedule.
func (p *Partition) View() *api.View {
	v := &api.View{
		Name: p.Name, Config: p.Config, Partition: p.Options.Partition,
		Capacity: p.Capacity.Clone(), Used: p.Root.Used.Clone(), Occupied: p.Occupied.Clone(),
		Root:         p.viewQueue(p.Root),
		Nodes:        make([]*api.NodeView, 0, p.Nodes.Len()),
		Applications: make([]*api.ApplicationView, 0, p.Applications.Len()),
		Preempted:    p.counts,
		ReserveDelay: p.Options.ReserveDelay,
		Work:         *p.Work,
		SettlesAt:    p.settling.End(),
	}
	p.Nodes.Ascend(func(n *ledger.Node) bool {
		v.Nodes = append(v.Nodes, n.Viewed())
		return true
	})
	p.Applications.Ascend(func(app *ledger.Application) bool {
		v.Applications = append(v.Applications, p.viewApplication(app))
		return true
	})
	v.ForeignUnknownNode = p.ViewUnplaced()
	v.Groups = p.groups.View()
	return v
}

func (p *Partition) viewQueue(q *ledger.Queue) *api.QueueView {
	if q.View != nil {
		return q.View
	}
	v := &api.QueueView{
		Path: q.Path, Leaf: q.Leaf, Draining: q.Draining, Dynamic: q.Dynamic, WasDynamic: q.WasDynamic, Quota: q.Quota,
		Max: q.Max.Clone(), Guaranteed: q.Guaranteed.Clone(), Used: q.Used.Clone(), Pending: q.Pending.Clone(),
		Nominated: q.Nominated.Clone(), Releasing: q.Releasing.Clone(),
		Share: p.OfQueue(q).Share(), Priority: p.OfQueue(q).Own.Top,
		Properties: q.Properties, Applications: len(q.Applications),
		ApplicationsMax: q.ApplicationsMax, Counted: q.Account.Applications,
	}
	p.quotas.View(q, v)
	for _, child := range q.SortedChildren() {
		v.Queues = append(v.Queues, p.viewQueue(child))
	}
	q.ShowAs(v)
	return v
}

// viewApplication is the view of an application. With asks, it holds only as long as nothing new
// is learnt about what fits.
func (p *Partition) viewApplication(a *ledger.Application) *api.ApplicationView {
	learnt := p.Rooms.Learnt
	if len(a.Asks) > 0 {
		for _, account := range a.Accounts() {
			for ; account != nil; account = account.Parent {
				learnt = max(learnt, account.Changed)
			}
		}
	}
	if a.View != nil && (len(a.Asks) == 0 || a.ViewedAt == learnt) {
		return a.View
	}
	v := &api.ApplicationView{
		ID: a.ID, Queue: a.Queue.Path, User: a.User, Groups: a.Groups, Tags: a.Tags,
		Group: a.Group(), Ran: a.Ran, Counts: a.Counts,
		State: a.State, Since: a.Since, Submitted: a.Submitted,
		Used: a.Used.Clone(), Pending: a.Pending.Clone(),
		Allocations: a.Running(),
		Asks:        p.viewAsks(a),
		Gang:        a.ViewGang(),
	}
	if a.BacksOff() {
		v.BackoffUntil = a.Failures.Backoff.Until
	}
	a.ShowAs(v, learnt)
	return v
}

// viewAsks is the asks with the reasons why they wait. Asks of one class that only wait
// for their turn share the reasons.
func (p *Partition) viewAsks(a *ledger.Application) []api.AskView {
	out := make([]api.AskView, len(a.Asks))
	shared := map[*backlog.Class]*api.Waiting{}
	for i, r := range a.Asks {
		out[i].Allocation, out[i].Number = r.Allocation, r.Number
		if r.Wait != nil {
			out[i].Waiting = p.waitsFor(r)
			continue
		}
		if shared[p.ClassOf(r)] == nil {
			shared[p.ClassOf(r)] = p.waitsFor(r)
		}
		out[i].Waiting = shared[p.ClassOf(r)]
	}
	return out
}
