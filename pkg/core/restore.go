package core

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// Restore makes a partition in the state that a view shows, so that a dry run can show
// what would happen without touching the original. The kinds of the options must be
// those of the view; a ReserveDelay of zero is that of the view. What the view does not show begins anew: when delayed asks are
// tried again, what was learnt of classes, and the order in which asks of the same age
// arrived. It takes time linear in the size of the view, and does not change it.
func Restore(options api.Options, now time.Time, v *api.View) *Partition {
	options.ReserveDelay = cmp.Or(options.ReserveDelay, v.ReserveDelay)
	p := NewPartition(options, v.Config)
	p.restoreQueues(p.root, v.Root)
	p.restoreExcess(p.root, v.Root)
	for _, n := range v.Nodes {
		p.Apply(now, api.AddNode{ID: n.ID, Attributes: n.Attributes, Capacity: n.Capacity.Clone(), Drained: !n.Schedulable})
		for _, a := range n.ForeignAllocations {
			p.Apply(now, api.AddAllocation{Allocation: a})
		}
	}
	for _, a := range v.ForeignUnknownNode {
		p.Apply(now, api.AddAllocation{Allocation: a})
	}
	for _, app := range v.Applications {
		p.restoreApplication(now, app)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Groups)) {
		if g := p.together[name]; g != nil {
			g.restore(&p.ledger, v.Groups[name])
		}
	}
	for _, n := range v.Nodes {
		p.restoreNode(n)
	}
	p.react()
	p.quotas.watchAll(p.root)
	p.takeEffects()
	return p
}

// restoreApplication brings back an application with its allocations and asks.
func (p *Partition) restoreApplication(now time.Time, v *api.ApplicationView) {
	p.now = now
	queue := queueTree{root: p.root}.find(string(v.Queue))
	p.takeIn(api.AddApplication{ID: v.ID, User: v.User, Groups: v.Groups, Tags: v.Tags}, queue)
	app := p.findApplication(v.ID)
	app.submitted = v.Submitted
	app.restoreGang(v.Gang)
	if app.group() != v.Group {
		p.limits.leave(app)
		p.limits.countFor(app, v.Group)
	}
	for _, a := range v.Allocations {
		r := p.restoreRequest(app, a)
		p.book(r, p.findNode(a.Node))
	}
	app.allowExcess()
	p.setRan(app, v.Ran)
	asks := slices.Clone(v.Asks)
	slices.SortStableFunc(asks, func(a, b api.AskView) int { return a.Created.Compare(b.Created) })
	for i := range asks {
		p.restoreAsk(app, &asks[i])
	}
	if v.Gang != nil {
		p.restoreGangs(app, v.Gang)
	}
	app.state, app.since = v.State, v.Since
	p.awaitEnd(app)
	if v.BackoffUntil.After(now) {
		p.backOffUntil(app, v.BackoffUntil)
	}
	p.changes.application(app, 0)
}

// restoreAsk brings back an ask and the node that it is nominated to.
func (p *Partition) restoreAsk(app *application, v *api.AskView) {
	r := p.restoreRequest(app, v.Allocation)
	p.ask(r)
	if v.Plan != nil {
		w := r.waiting()
		w.plan, w.plannedAt, w.attempts = v.Plan, v.Planned, v.Attempts
	}
	if v.Nominated != "" {
		p.kept.renominate(r, p.findNode(v.Nominated), &preemptor.Decision{Trigger: v.Trigger})
	}
}

func (p *Partition) restoreRequest(app *application, a *api.Allocation) *request {
	own := *a
	return p.register(&own, app)
}

// restoreNode brings back the evictions on a node, and the asks that it is reserved
// for.
func (p *Partition) restoreNode(v *api.NodeView) {
	n := p.findNode(v.ID)
	n.allowExcess()
	for _, l := range v.Evictions {
		victim := p.requests[l.Key]
		p.evictions.cancel(victim) // what its tags said
		p.setEviction(victim, &eviction{
			ask: l.For, trigger: l.Trigger, class: l.Class, reported: l.Reported, since: l.Since, overdue: l.Overdue, late: l.Late,
			dismissed: l.Dismissed,
		})
		if l.NodeOnly {
			p.evictions.setNodeOnly(victim, true)
		}
		switch {
		case !l.Overdue:
			p.evictions.schedule(victim)
		case !l.BlocksUntil.IsZero():
			p.evictions.block(victim, l.BlocksUntil)
		}
	}
	for _, held := range v.Reservations {
		r := p.requests[held.Key]
		if held.Required {
			r.waiting().since = held.At
		}
		if r.claim() == nil {
			p.kept.hold(r, n)
		}
		r.wait.claim.since = held.At
		if plan := r.wait.plan; held.Required && plan != nil && plan.Reason != preemptor.TooYoung {
			p.kept.keepQuotaToo(r)
		}
	}
	p.changes.node(n, 0)
}

// restoreExcess brings back since when queues use more than their max, after all queues
// are there: one that comes may have all of them looked at again.
func (p *Partition) restoreExcess(q *queue, v *api.QueueView) {
	if !v.OverMaxSince.IsZero() {
		p.quotas.beyond[q] = &excess{since: v.OverMaxSince, plan: v.QuotaPlan, planned: v.QuotaPlanned}
	}
	for _, below := range v.Queues {
		p.restoreExcess(q.children[lastElement(below.Path)], below)
	}
}

// restoreQueues brings back queues that drain or are not configured.
func (p *Partition) restoreQueues(q *queue, v *api.QueueView) {
	for _, below := range v.Queues {
		name := lastElement(below.Path)
		child := q.children[name]
		if child == nil {
			child = p.newQueue(q, &api.QueueConfig{Name: name})
			child.max, child.guaranteed, child.properties = below.Max, below.Guaranteed, below.Properties
			child.applicationsMax = below.ApplicationsMax
			child.leaf, child.draining, child.dynamic, child.quota = below.Leaf, below.Draining, below.Dynamic, below.Quota
			child.template = q.template
			q.children[name] = child
			p.noteQueue(child)
		}
		child.wasDynamic = below.WasDynamic
		if below.Leaf != child.leaf { // it has applications or queues, so the configuration did not change what it is
			child.leaf = below.Leaf
			clear(child.children)
		}
		p.restoreQueues(child, below)
	}
}

// lastElement is the name of a queue within its parent.
func lastElement(path api.QueuePath) string {
	return string(path[strings.LastIndexByte(string(path), '.')+1:])
}

// restoreGangs brings back what a view shows of a gang whose members are there.
func (p *Partition) restoreGangs(app *application, v *api.GangView) {
	for i, group := range v.Groups {
		g := app.gang.groups[i]
		g.least, g.made, g.replaced, g.timedOut = group.Least, group.Made, group.Replaced, group.TimedOut
	}
	for _, with := range v.Replacements {
		placeholder, r := p.requests[with.Placeholder], p.requests[with.Ask]
		if r != nil {
			if p.groupOf(r) != nil {
				p.extract(r)
			}
			r.taskGroup().others.remove(r)
			p.pairUp(r, placeholder)
			if n := p.findNode(with.Node); n != nil {
				p.kept.hold(r, n)
			}
			continue
		}
		placeholder.waiting().pair = &replacement{placeholder: placeholder}
	}
	if !v.ExpiresAt.IsZero() {
		p.timers.Set(&app.gang.timer, v.ExpiresAt, due{what: dueGang, of: app})
	}
}
