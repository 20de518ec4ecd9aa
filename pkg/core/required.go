package core

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A round tries the asks of one node that may run there only, in their order. Those for
// which victims are needed are planned together, and the victims are told at the end: so
// none of them could have stayed.
//
// An ask has a claim only while room is on its way. While it is too young for a plan, no quota
// is kept for it.
type round struct {
	*Partition
	node *ledger.Node
	// together are the asks for which plan was made, whose victims do not know of it yet, and
	// wanted is the sum of them.
	together []*ledger.Request
	wanted   resources.Amounts
	plan     preemptor.Decision
	broken   uint64 // how many asks with a required node had given up their quota before that
	// hopeless is the ask that was tried last, if no room can be made for it.
	hopeless *ledger.Request
}

// tryRequired tries the asks that may run on a node only. Room that is on its way for
// one ask is kept from those after it. One that comes after an ask of another node waits for
// that, where the quota is not enough for all.
func (p *Partition) tryRequired(n *ledger.Node) question.Outcome {
	if n.Required.Len() == 0 {
		return question.Waits
	}
	if p.settling.Holds(n) {
		p.awaitSchedulable(n)
		return question.Waits
	}
	d := &p.round
	*d = round{Partition: p, node: n}
	defer func() { *d = round{} }()
	list := n.Required.List()
	if !p.Plain {
		slices.SortFunc(list, func(a, b *ledger.Request) int { return a.Rank().Compare(b.Rank()) })
	}
	for _, r := range list {
		if r.Wait != nil && r.Wait.Delayed {
			continue
		}
		if other := p.before(r); other != nil && compete(r, other) {
			p.tryRest(n, r)
			break
		}
		if d.try(r) == question.Flush {
			return question.Flush // what was planned is planned again
		}
	}
	if !d.commit() {
		return question.Flush
	}
	return question.Waits
}

// awaitSchedulable notes why the asks wait that may run only on a node that is held.
func (p *Partition) awaitSchedulable(n *ledger.Node) {
	for _, r := range n.Required.List() {
		if r.Wait != nil && r.Wait.Delayed {
			continue
		}
		r.Waiting().GivesUp(api.NodeHeld, string(n.ID))
		p.Changes.Application(r.App, 0)
	}
}

// try places an ask, or has room made for it.
func (d *round) try(r *ledger.Request) question.Outcome {
	d.Work.Attempts++
	d.Changes.Application(r.App, 0)
	if r.Promised() && r.QuotaToFree() != nil {
		if !d.commit() { // what ends for those before it may free quota too
			return question.Flush
		}
		if r.QuotaToFree() != nil {
			d.kept.End(r, r.WhyNoQuota(), api.EndOfQuota) // a more important ask that came later gets the quota
		}
	}
	if held := r.HeldBack(); held != nil {
		d.await(r, held)
		d.kept.End(r, r.WhyNoQuota(), api.EndOfQuota)
		r.Wait.GivesUp(r.WhyHeldBack(held))
		return question.Waits
	}
	short := r.WithoutRoom()
	if short == nil {
		r.GoOn()
	}
	if short == nil && r.Amounts.FitsIn(d.node.FreeFor(r)) {
		d.hopeless = nil
		return d.place(r)
	}
	if short != nil {
		d.await(r, &short.Account)
	}
	if d.isAsHopeless(r) {
		d.follow(r)
		return question.Waits
	}
	d.hopeless = nil
	lack := r.QuotaToFree()
	if len(lack) == 0 && d.planHolds(r) || d.isStillRefused(r) {
		return question.Waits
	}
	// Nothing is evicted for an ask that the resource manager would then refuse.
	result, err := d.predicates.Check(r, d.node, false)
	switch result {
	case question.Flush:
		return question.Flush
	case question.Placed:
		return d.makeRoom(r, lack)
	}
	return d.makeRoomDespite(r, lack, err)
}

// makeRoomDespite makes room for an ask that the resource manager refuses, if it would
// agree without the victims.
func (d *round) makeRoomDespite(r *ledger.Request, lack ledger.QuotaNeed, refusal error) question.Outcome {
	if d.Options.Simulate != nil && !answers.IsUnresolvable(refusal) {
		if d.makeRoom(r, lack) == question.Flush {
			return question.Flush
		}
		if r.Claim() != nil {
			return question.Waits
		}
	}
	d.refusedOnItsNode(r, refusal)
	d.trialOf(r).revision, d.hopeless = d.node.Revision, r
	return question.Waits
}

// isAsHopeless reports whether no room can be made for an ask, since it is like the one that was tried
// just before.
func (d *round) isAsHopeless(r *ledger.Request) bool {
	like := d.hopeless
	return like != nil && d.ClassOf(like) == d.ClassOf(r) && like.App.Queue == r.App.Queue &&
		like.NeverPreempts() == r.NeverPreempts() && (!d.predicates.Any() || d.ClassOf(r).Constraints != "") &&
		r.Claim() == nil && !r.MadeRoom && (r.Wait == nil || !r.Wait.Ran && !r.Wait.Paused())
}

// follow notes what was found out for the ask that was tried just before.
func (d *round) follow(r *ledger.Request) {
	like, w := d.hopeless.Wait, r.Waiting()
	w.LacksRoom(like.Since)
	w.Says(like.Reason, like.Detail)
	w.Plans(like.Plan, like.PlannedAt)
	if at := d.MomentOf(d.hopeless, backlog.Retry); !at.IsZero() {
		d.retryAt(r, at)
	}
	before, found := d.trials.Get(r.Slot, r).decided, d.trials.Get(d.hopeless.Slot, d.hopeless)
	*d.trialOf(r) = found
	if like.Reason == api.NodeFull && like.Plan != nil && (before == nil || !before.SaysAs(found.decided)) {
		d.reportFull(r)
	}
}

// place places an ask that has room. If the resource manager refuses it, allocations
// that conflict with it may be victims.
func (d *round) place(r *ledger.Request) question.Outcome {
	result, err := d.predicates.Check(r, d.node, true)
	if result == question.Placed {
		if err = d.conflict(r); err != nil {
			result = question.Waits
		}
	}
	switch {
	case result == question.Flush:
		return question.Flush
	case result == question.Placed:
		d.Partition.place(r, d.node)
		return question.Placed
	case r.Promised() && d.predicates.FeasibleAfterEvictions(r, d.node):
		return question.Waits
	case r.MadeRoom && d.node.Releasing.IsZero():
		if count, _ := d.node.Overdue(r.Key); count == 0 {
			d.roomUnused(r, err.Error())
		}
	}
	return d.makeRoomDespite(r, nil, err)
}

// conflict says why an ask may not run beside those that come before it and for which
// room is on its way.
func (d *round) conflict(r *ledger.Request) error {
	if d.Options.Simulate == nil {
		return nil
	}
	before := d.before(r)
	if len(before) == 0 {
		return nil
	}
	return d.simulate(append(before, r), 1, nil)
}

// before are the asks with the same required node that come before one and for which room is on
// its way, in order.
func (d *round) before(r *ledger.Request) (list []*ledger.Request) {
	for _, other := range d.node.Claims {
		if other.Promised() && other != r && other.KeepsFrom(r) {
			list = append(list, other)
		}
	}
	return list
}

// makeRoom plans which allocations make room for an ask that does not run, and of the
// quota that it lacks.
func (d *round) makeRoom(r *ledger.Request, lack ledger.QuotaNeed) question.Outcome {
	w := r.Waiting()
	w.Says(api.NodeFull, "")
	w.LacksRoom(d.Now)
	if why := d.holdsBack(r); why != "" {
		d.kept.End(r, why, api.EndOfRoom)
		w.Says(api.NodeFull, why)
		return question.Waits
	}
	if len(lack) == 0 && d.isKept(r) {
		w.Says(api.NodeFull, "the room is kept for a more important ask")
		return question.Waits
	}
	if len(lack) > 0 && !d.mayFree(lack) {
		d.giveUp(r, lack)
		return question.Waits
	}
	joined := len(lack) == 0 && d.joins(r)
	if !joined && !d.commit() || d.mustTell() {
		return question.Flush
	}
	if joined && len(d.together) > 0 {
		asks := append(slices.Clone(d.together), r)
		plan := d.planFor(asks, nil)
		if plan.Reason == preemptor.Chosen && !d.attempts.Loops(r) {
			d.plan = plan
			d.join(r)
			return question.Waits
		}
		if !d.costs.Flat || d.Options.Budgets != nil {
			if !d.commit() || d.mustTell() { // guarantees and budgets count what is evicted already
				return question.Flush
			}
		}
	}
	d.decide(r, d.planFor([]*ledger.Request{r}, lack), lack)
	if len(lack) > 0 && !d.commit() { // a plan for others beside it would not free the quota
		return question.Flush
	}
	return question.Waits
}

// mustTell reports whether the resource manager has to hear of what was done before it
// is asked again.
func (d *round) mustTell() bool {
	asks := d.Options.Feasible != nil || d.Options.Simulate != nil
	return asks && d.node.PlacedIn == d.Batch || d.Options.Budgets != nil && d.evictions.Batched == d.Batch
}

// joins reports whether an ask can be planned together with those before it: it is old
// enough, and sees queues as they do.
func (d *round) joins(r *ledger.Request) bool {
	if len(d.together) == 0 {
		return true
	}
	alike := d.costs.Flat || r.App.Queue == d.together[0].App.Queue
	return alike && !r.NeverPreempts() && d.Now.Sub(r.Wait.Since) >= d.Preemption.RequiredNode.StartDelay
}

// decide does for an ask what was planned for it alone.
func (d *round) decide(r *ledger.Request, plan preemptor.Decision, lack ledger.QuotaNeed) {
	w := r.Wait
	*d.trialOf(r) = trial{d.node.Revision, &plan}
	if plan.Reason == preemptor.Chosen && d.attempts.Loops(r) {
		w.Says(api.NodeFull, d.holdsBack(r))
		d.kept.End(r, w.Detail, api.EndOfRoom)
		return
	}
	if plan.Reason != preemptor.WaitsForReleasing || !r.Promised() || w.Plan == nil {
		w.Plans(&plan, d.Now) // else the record of what was chosen says more
	}
	switch plan.Reason {
	case preemptor.Chosen:
		before := d.plan.Victims
		d.plan = plan
		d.plan.Victims = slices.Concat(before, plan.Victims)
		d.join(r)
		d.spare(lack)
	case preemptor.WaitsForReleasing, preemptor.RoomIsThere:
		d.kept.Promise(r, d.node)
		d.kept.SettleQuota(r)
	case preemptor.TooYoung:
		if r.Promised() {
			d.kept.End(r, "it is too early for evictions", api.EndOfRoom)
		}
		d.kept.Reserve(r, d.node)
		d.SetMoment(r, backlog.Retry, plan.Again)
	default:
		d.giveUp(r, lack)
	}
}

// join has an ask planned together with those before it.
func (d *round) join(r *ledger.Request) {
	d.kept.Promise(r, d.node)
	if len(d.together) == 0 {
		d.broken = d.kept.Broken
	}
	d.together = append(d.together, r)
	d.wanted.Add(r.Amounts)
}

// giveUp notes that no room can be made for an ask. It is tried again when its node
// changes, or what it lacks of quota is there; what the resource manager said is asked
// again after a while.
func (d *round) giveUp(r *ledger.Request, lack ledger.QuotaNeed) {
	w := r.Wait
	d.hopeless = r
	if len(lack) > 0 {
		d.kept.End(r, r.WhyNoQuota(), api.EndOfQuota)
		w.GivesUp(api.QuotaExceeded, string(r.WithoutRoom().Path))
		return
	}
	conflicts := !r.NeverPreempts() && slices.ContainsFunc(w.Plan.Failures, question.IsRefusal)
	if conflicts {
		d.kept.End(r, "it is refused on its node", api.EndByRefusal)
	} else {
		d.kept.End(r, "no room can be made for it", api.EndOfRoom)
	}
	if r.NeverPreempts() {
		w.GivesUp(api.NodeFull, "nothing is to be evicted for it")
		return
	}
	if conflicts || d.predicates.BudgetsBind() {
		d.retryAt(r, d.Now.Add(d.Options.RetryMax))
	}
	d.reportFull(r)
}

// reportFull tells that no room can be made on the required node of an ask.
func (d *round) reportFull(r *ledger.Request) {
	d.Tell(&api.AskReport{Allocation: r.Allocation, Why: d.waitsFor(r)})
}

// retryAt has an ask tried again at a time at the latest.
func (p *Partition) retryAt(r *ledger.Request, at time.Time) {
	if is := p.MomentOf(r, backlog.Retry); is.IsZero() || at.Before(is) {
		p.SetMoment(r, backlog.Retry, at)
	}
}

// refusedOnItsNode lets go of the node of a bound ask that the resource manager refuses
// there. One that may run on no other is asked about again later.
func (p *Partition) refusedOnItsNode(r *ledger.Request, err error) {
	p.kept.End(r, err.Error(), api.EndByRefusal)
	r.Waiting().GivesUp(api.Infeasible, err.Error())
	if r.Required != "" {
		p.retryAt(r, p.Now.Add(p.Options.RetryMax))
	}
}
