package core

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// Restore makes a partition in the state that a view shows, so that a dry run can show
// what would happen without touching the original. The kinds of the options must be
// those of the view; a ReserveDelay of zero is that of the view. What the view does not show begins anew: when delayed asks are
// tried again, what was learnt of classes, and which of the asks of several applications that are equal in all
// else arrived first. It takes time linear in the size of the view, and does not change it.
func Restore(options api.Options, now time.Time, v *api.View) *Partition {
	options.ReserveDelay = cmp.Or(options.ReserveDelay, v.ReserveDelay)
	p := NewPartition(options, v.Config)
	p.restoreQueues(p.Root, v.Root)
	p.restoreExcess(p.Root, v.Root)
	for _, n := range v.Nodes {
		p.Apply(now, api.AddNode{ID: n.ID, Attributes: n.Attributes, Capacity: n.Capacity.Clone(), Drained: !n.Schedulable})
		for _, a := range n.ForeignAllocations {
			p.Apply(now, api.AddAllocation{Allocation: a})
		}
	}
	for _, a := range v.ForeignUnknownNode {
		p.Apply(now, api.AddAllocation{Allocation: a})
	}
	groups := slices.Sorted(maps.Keys(v.Groups))
	for _, name := range groups {
		p.RestoreTerms(name, v.Groups[name].Terms)
	}
	for _, app := range v.Applications {
		p.restoreApplication(now, app)
	}
	for _, name := range groups {
		p.groups.Restore(p.Together[name], v.Groups[name])
	}
	for _, n := range v.Nodes {
		p.restoreNode(n)
	}
	p.react()
	p.quotas.WatchAll(p.Root)
	p.TakeEffects()
	return p
}

// restoreApplication brings back an application with its allocations and asks.
func (p *Partition) restoreApplication(now time.Time, v *api.ApplicationView) {
	p.BeginCommand(now)
	queue := queueTree{root: p.Root}.find(string(v.Queue))
	p.takeIn(api.AddApplication{ID: v.ID, User: v.User, Groups: v.Groups, Tags: v.Tags}, queue)
	app := p.FindApplication(v.ID)
	app.Restore(v)
	if app.Group() != v.Group {
		p.Limits.Leave(app)
		p.Limits.CountFor(app, v.Group)
	}
	for _, a := range v.Allocations {
		r := p.restoreRequest(app, a)
		p.order.Arrives(r)
		p.Book(r, p.FindNode(a.Node))
	}
	app.AllowExcess()
	p.SetRan(app, v.Ran)
	asks := slices.Clone(v.Asks)
	slices.SortFunc(asks, func(a, b api.AskView) int { return a.InOrder(&b) })
	for i := range asks {
		p.restoreAsk(app, &asks[i])
	}
	if v.Gang != nil {
		p.restoreGangs(app, v.Gang)
	}
	p.awaitEnd(app)
	if v.BackoffUntil.After(now) {
		p.backOffUntil(app, v.BackoffUntil)
	}
	p.Changes.Application(app, 0)
}

// restoreAsk brings back an ask and the node that it is nominated to.
func (p *Partition) restoreAsk(app *ledger.Application, v *api.AskView) {
	r := p.restoreRequest(app, v.Allocation)
	p.ask(r)
	if v.Plan != nil {
		r.Waiting().Plans(v.Plan, v.Planned)
		r.Wait.Tried(v.Attempts)
	}
	if v.Nominated != "" {
		p.kept.Renominate(r, p.FindNode(v.Nominated), &preemptor.Decision{Trigger: v.Trigger})
	}
}

func (p *Partition) restoreRequest(app *ledger.Application, a *api.Allocation) *ledger.Request {
	own := *a
	return p.Register(&own, app)
}

// restoreNode brings back the evictions on a node, and the asks that it is reserved
// for.
func (p *Partition) restoreNode(v *api.NodeView) {
	n := p.FindNode(v.ID)
	n.AllowExcess()
	for _, l := range v.Evictions {
		victim := p.Requests[l.Key]
		p.evictions.Cancel(victim) // what its tags said
		p.SetEviction(victim, &ledger.Eviction{
			Ask: l.For, Trigger: l.Trigger, Class: l.Class, Reported: l.Reported, Since: l.Since, Overdue: l.Overdue, Late: l.Late,
			Dismissed: l.Dismissed,
		})
		if l.NodeOnly {
			p.evictions.SetNodeOnly(victim, true)
		}
		switch {
		case !l.Overdue:
			p.evictions.Schedule(victim)
		case !l.BlocksUntil.IsZero():
			p.evictions.Block(victim, l.BlocksUntil)
		}
	}
	for _, held := range v.Reservations {
		if held.Lost != nil {
			p.groups.RestoreLost(&held, p.FindApplication(held.Lost.Application), n)
			continue
		}
		r := p.Requests[held.Key]
		if held.Required {
			r.Waiting().LacksRoom(held.At)
		}
		if r.Claim() == nil {
			p.kept.Hold(r, n)
		}
		r.Wait.Claim.KeptSince(held.At)
		if plan := r.Wait.Plan; held.Required && plan != nil && plan.Reason != preemptor.TooYoung {
			p.kept.KeepQuotaToo(r)
		}
	}
	p.Changes.Node(n, 0)
}

// restoreExcess brings back since when queues use more than their max, after all queues
// are there: one that comes may have all of them looked at again.
func (p *Partition) restoreExcess(q *ledger.Queue, v *api.QueueView) {
	p.quotas.Restore(q, v)
	for _, below := range v.Queues {
		p.restoreExcess(q.Children[below.Path.Name()], below)
	}
}

// restoreQueues brings back queues that drain or are not configured.
func (p *Partition) restoreQueues(q *ledger.Queue, v *api.QueueView) {
	for _, below := range v.Queues {
		child, made := p.RestoreQueue(q, below)
		if made {
			p.noteQueue(child)
		}
		p.restoreQueues(child, below)
	}
}

// restoreGangs brings back what a view shows of a gang whose members are there.
func (p *Partition) restoreGangs(app *ledger.Application, v *api.GangView) {
	app.RestoreCounts(v)
	for _, with := range v.Replacements {
		placeholder, r := p.Requests[with.Placeholder], p.Requests[with.Ask]
		if r != nil {
			if p.GroupOf(r) != nil {
				p.Extract(r)
			}
			r.InTaskGroup().Others.Remove(r)
			p.PairUp(r, placeholder)
			continue
		}
		placeholder.EndsForNone()
	}
	if !v.ExpiresAt.IsZero() {
		p.Timers.Set(&app.Gang.Timer, v.ExpiresAt, timers.Due{What: timers.Gang, Of: app})
	}
}
