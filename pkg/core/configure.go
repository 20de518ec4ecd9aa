package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// configure brings the partition in line with a configuration. Queues that are
// no longer in it drain, and are removed when nothing is left in them.
func (p *Partition) configure(config api.Config) {
	p.react() // orders are exact before what decides them changes
	p.tell(&api.Reconfigured{Before: p.config.Root, After: config.Root, Total: p.capacity.Clone()})
	timeout := p.preemption.VictimTimeout
	p.config, p.name, p.preemption = config, config.Name, config.Preemption.WithDefaults()
	p.preemption.RequiredNode.SpareForeign = p.preemption.RequiredNode.SpareForeign || p.options.KeepsForeign
	for t := range p.costs.plans {
		p.costs.plans[t] = p.preemption.PlanFor(preemptor.Trigger(t))
	}
	p.order.configure(p.kinds, config.Nodes)
	if p.root == nil {
		p.root = p.newQueue(nil, &config.Root)
	}
	p.setQueue(p.root, &config.Root)
	p.costs.flat, p.plain = areFlat(p.root), arePlain(p.root)
	p.costs.configured = configuredKinds(p.root)
	p.order.rebuild(p.allNodes)
	p.capped = !p.root.everywhere(func(q *queue) bool { return q.applicationsMax == 0 })
	p.rebuildLimits()
	p.settleGroups()
	p.recomputeShares()
	if p.preemption.VictimTimeout != timeout {
		p.evictions.reschedule()
	}
	p.reconsider()
}

// reconsider has all that waits decided anew under the configuration.
func (p *Partition) reconsider() {
	p.slotsDue = true
	p.quotas.watchAll(p.root)
	p.reclassifyAll()
	p.costs.clear()
	p.retries.all()
	p.retryAll()
}

// reclassifyAll gives every ask the class that it has under the configuration. The asks of an
// application come by age, so that each is put at the end of its group and none moves aside.
func (p *Partition) reclassifyAll() {
	p.applications.Ascend(func(app *application) bool {
		for _, r := range slices.SortedFunc(slices.Values(app.asks), byAge) {
			before := r.importance
			p.reclassify(r)
			if r.importance != before {
				p.kept.rerank(r, before)
			}
		}
		return true
	})
}

// retryAll has every ask tried on every node again, since the order of asks may have
// changed.
func (p *Partition) retryAll() {
	for n := range p.allNodes {
		n.revision++
		p.changes.node(n, nodeRetry|nodeUpdated)
	}
	p.applications.Ascend(func(app *application) bool {
		for _, r := range app.asks {
			p.unpark(p.classOf(r))
		}
		p.changes.application(app, quotaFreed)
		return true
	})
}

// settleGroups brings all groups up to date, after other limits apply to applications.
func (b *backlog) settleGroups() {
	b.applications.Ascend(func(app *application) bool {
		for g := range b.ofApplication(app).groups.all { // each changes its own place only
			b.settleGroup(g)
		}
		return true
	})
}
