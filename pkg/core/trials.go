package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A trial is what was found out of an ask when it was tried last on its required node. The zero value is nothing.
type trial struct {
	revision uint64              // of the node then
	decided  *preemptor.Decision // of making room, where no detail says that
}

// trialOf is the last trial of an ask; valid until there is one of another ask.
func (p *Partition) trialOf(r *ledger.Request) *trial { return p.trials.Of(r.Slot, r) }

// waitsFor says why an ask waits.
func (p *Partition) waitsFor(r *ledger.Request) *api.Waiting {
	v := p.WaitsFor(r)
	v.Decided = p.trials.Get(r.Slot, r).decided
	return v
}

// checkTrials checks that trials are of asks that wait.
func (p *Partition) checkTrials(v *laws.Check) {
	for slot, r := range p.trials.All {
		if r.Slot != slot {
			v.Breaks("a trial is known of %s, which does not wait", r.Key)
		}
	}
}

// isStillRefused reports whether the resource manager refused an ask on its required node, and there is
// no reason to ask again yet.
func (d *round) isStillRefused(r *ledger.Request) bool {
	w := r.Wait
	return w != nil && w.Reason == api.Infeasible && d.trials.Get(r.Slot, r).revision == d.node.Revision && !d.MomentOf(r, backlog.Retry).IsZero()
}

// planHolds reports whether the last plan for an ask would come out the same: the
// node has not changed, and if it was too early for one, it still is.
func (d *round) planHolds(r *ledger.Request) bool {
	w := r.Wait
	return w != nil && w.Plan != nil && d.trials.Get(r.Slot, r).revision == d.node.Revision &&
		(w.Plan.Reason != preemptor.TooYoung || w.Plan.Again.After(d.Now))
}
