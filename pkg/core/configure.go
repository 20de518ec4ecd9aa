package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// configure brings the partition in line with a configuration. Queues that are
// no longer in it drain, and are removed when nothing is left in them.
func (p *Partition) configure(config api.Config) {
	p.react() // orders are exact before what decides them changes
	p.Tell(&api.Reconfigured{Before: p.Config.Root, After: config.Root, Total: p.Capacity.Clone()})
	timeout := p.Preemption.VictimTimeout
	p.Configure(config)
	p.topology.Configure(config.Levels)
	p.order.Configure(p.Kinds, config.Nodes)
	p.SeePriorities(arePlain(p.Root))
	p.costs.Configure(areFlat(p.Root), configuredKinds(p.Root))
	p.order.Rebuild(p.AllNodes)
	p.countAsks()
	p.RebuildLimits()
	p.SettleGroups()
	p.RecomputeShares()
	if p.Preemption.VictimTimeout != timeout {
		p.evictions.Reschedule()
	}
	p.reconsider()
	p.groups.RetryAll()
}

// reconsider has all that waits decided anew under the configuration.
func (p *Partition) reconsider() {
	p.MayHelpSlots()
	p.QuotaFreed()
	p.quotas.WatchAll(p.Root)
	p.reclassifyAll()
	p.costs.Clear()
	p.retries.All()
	p.retryAll()
}

// reclassifyAll gives every ask the class that it has under the configuration. The asks of an
// application come by age, so that each is put at the end of its group and none moves aside.
func (p *Partition) reclassifyAll() {
	p.Applications.Ascend(func(app *ledger.Application) bool {
		for _, r := range slices.SortedFunc(slices.Values(app.Asks), backlog.ByAge) {
			p.Reclassify(r)
		}
		return true
	})
	p.groups.RankLost()
}

// retryAll has every ask tried on every node again, since the order of asks may have
// changed.
func (p *Partition) retryAll() {
	for n := range p.AllNodes {
		p.Changes.Node(n, ledger.NodeRetry|ledger.NodeUpdated)
	}
	p.Applications.Ascend(func(app *ledger.Application) bool {
		for _, r := range app.Asks {
			p.Unpark(p.ClassOf(r))
		}
		p.Changes.Application(app, ledger.QuotaFreed)
		return true
	})
}

// countAsks has what runs and what waits counted anew with what arrives.
func (p *Partition) countAsks() {
	p.Applications.Ascend(func(app *ledger.Application) bool {
		for _, r := range slices.SortedFunc(slices.Values(app.Allocations), backlog.ByAge) {
			p.order.Arrives(r)
		}
		for _, r := range slices.SortedFunc(slices.Values(app.Asks), backlog.ByAge) {
			p.order.Waits(r)
		}
		return true
	})
}
