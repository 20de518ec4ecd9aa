package core

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
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
	node *node
	// together are the asks for which plan was made, whose victims do not know of it yet, and
	// wanted is the sum of them.
	together []*request
	wanted   resources.Amounts
	plan     preemptor.Decision
	broken   uint64 // how many asks with a required node had given up their quota before that
	// hopeless is the ask that was tried last, if no room can be made for it.
	hopeless *request
}

// tryRequired tries the asks that may run on a node only. Room that is on its way for
// one ask is kept from those after it. One that comes after an ask of another node waits for
// that, where the quota is not enough for all.
func (p *Partition) tryRequired(n *node) outcome {
	if n.required.len() == 0 {
		return waits
	}
	if n.held {
		p.awaitSchedulable(n)
		return waits
	}
	d := &p.round
	*d = round{Partition: p, node: n}
	defer func() { *d = round{} }()
	list := n.required.list()
	if !p.plain {
		slices.SortFunc(list, func(a, b *request) int { return a.rank().compare(b.rank()) })
	}
	for _, r := range list {
		if r.wait != nil && r.wait.delayed {
			continue
		}
		if other := p.before(r); other != nil && compete(r, other) {
			p.tryRest(n, r)
			break
		}
		if d.try(r) == flush {
			return flush // what was planned is planned again
		}
	}
	if !d.commit() {
		return flush
	}
	return waits
}

// awaitSchedulable notes why the asks wait that may run only on a node that is held.
func (p *Partition) awaitSchedulable(n *node) {
	for _, r := range n.required.list() {
		if r.wait != nil && r.wait.delayed {
			continue
		}
		w := r.waiting()
		w.plan, w.reason, w.detail = nil, api.NodeHeld, string(n.id)
		p.changes.application(r.application, 0)
	}
}

// try places an ask, or has room made for it.
func (d *round) try(r *request) outcome {
	d.work.Attempts++
	d.changes.application(r.application, 0)
	if r.promised() && r.quotaToFree() != nil {
		if !d.commit() { // what ends for those before it may free quota too
			return flush
		}
		if r.quotaToFree() != nil {
			d.kept.end(r, r.whyNoQuota(), api.EndOfQuota) // a more important ask that came later gets the quota
		}
	}
	if held := r.heldBack(); held != nil {
		d.await(r, held)
		d.kept.end(r, r.whyNoQuota(), api.EndOfQuota)
		r.wait.plan = nil
		r.wait.reason, r.wait.detail = r.whyHeldBack(held)
		return waits
	}
	short := r.withoutRoom()
	if short == nil && r.wait != nil {
		r.wait.heldBy = nil
	}
	if short == nil && r.Amounts.FitsIn(d.node.freeFor(r)) {
		d.hopeless = nil
		return d.place(r)
	}
	if short != nil {
		d.await(r, &short.account)
	}
	if d.isAsHopeless(r) {
		d.follow(r)
		return waits
	}
	d.hopeless = nil
	lack := r.quotaToFree()
	if len(lack) == 0 && planHolds(r, d.node, d.now) || d.isStillRefused(r) {
		return waits
	}
	// Nothing is evicted for an ask that the resource manager would then refuse.
	result, err := d.predicates.check(r, d.node, false)
	switch result {
	case flush:
		return flush
	case placed:
		return d.makeRoom(r, lack)
	}
	return d.makeRoomDespite(r, lack, err)
}

// makeRoomDespite makes room for an ask that the resource manager refuses, if it would
// agree without the victims.
func (d *round) makeRoomDespite(r *request, lack quotaNeed, refusal error) outcome {
	if d.options.Simulate != nil && !isUnresolvable(refusal) {
		if d.makeRoom(r, lack) == flush {
			return flush
		}
		if r.claim() != nil {
			return waits
		}
	}
	d.refusedOnItsNode(r, refusal)
	r.wait.planned, d.hopeless = d.node.revision, r
	return waits
}

// isAsHopeless reports whether no room can be made for an ask, since it is like the one that was tried
// just before.
func (d *round) isAsHopeless(r *request) bool {
	like := d.hopeless
	return like != nil && d.classOf(like) == d.classOf(r) && like.application.queue == r.application.queue &&
		like.NeverPreempts() == r.NeverPreempts() && (!d.predicates.any() || d.classOf(r).constraints != "") &&
		r.claim() == nil && !r.madeRoom && (r.wait == nil || !r.wait.ran && !r.wait.paused())
}

// follow notes what was found out for the ask that was tried just before.
func (d *round) follow(r *request) {
	like, w := d.hopeless.wait, r.waiting()
	if w.since.IsZero() {
		w.since = like.since
	}
	w.reason, w.plan, w.planned, w.plannedAt = like.reason, like.plan, like.planned, like.plannedAt
	if !like.due.retry.IsZero() {
		d.retryAt(r, like.due.retry)
	}
	before := w.decided
	w.detail, w.decided = like.detail, like.decided
	if like.reason == api.NodeFull && like.plan != nil && (before == nil || !before.SaysAs(w.decided)) {
		d.reportFull(r)
	}
}

// place places an ask that has room. If the resource manager refuses it, allocations
// that conflict with it may be victims.
func (d *round) place(r *request) outcome {
	result, err := d.predicates.check(r, d.node, true)
	if result == placed {
		if err = d.conflict(r); err != nil {
			result = waits
		}
	}
	switch {
	case result == flush:
		return flush
	case result == placed:
		d.Partition.place(r, d.node)
		return placed
	case r.promised() && d.predicates.feasibleAfterEvictions(r, d.node):
		return waits
	case r.madeRoom && d.node.releasing.IsZero():
		if count, _ := d.node.overdue(r.Key); count == 0 {
			d.roomUnused(r, err.Error())
		}
	}
	return d.makeRoomDespite(r, nil, err)
}

// conflict says why an ask may not run beside those that come before it and for which
// room is on its way.
func (d *round) conflict(r *request) error {
	if d.options.Simulate == nil {
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
func (d *round) before(r *request) (list []*request) {
	for _, other := range d.node.claims {
		if other.promised() && other != r && other.keepsFrom(r) {
			list = append(list, other)
		}
	}
	return list
}

// makeRoom plans which allocations make room for an ask that does not run, and of the
// quota that it lacks.
func (d *round) makeRoom(r *request, lack quotaNeed) outcome {
	w := r.waiting()
	w.reason = api.NodeFull
	if w.since.IsZero() {
		w.since = d.now
	}
	if why := d.holdsBack(r); why != "" {
		d.kept.end(r, why, api.EndOfRoom)
		w.detail = why
		return waits
	}
	if len(lack) == 0 && d.isKept(r) {
		w.detail = "the room is kept for a more important ask"
		return waits
	}
	if len(lack) > 0 && !d.mayFree(lack) {
		d.giveUp(r, lack)
		return waits
	}
	joined := len(lack) == 0 && d.joins(r)
	if !joined && !d.commit() || d.mustTell() {
		return flush
	}
	if joined && len(d.together) > 0 {
		asks := append(slices.Clone(d.together), r)
		plan := d.planFor(asks, nil)
		if plan.Reason == preemptor.Chosen && !d.attempts.loops(r) {
			d.plan = plan
			d.join(r)
			return waits
		}
		if !d.costs.flat || d.options.Budgets != nil {
			if !d.commit() || d.mustTell() { // guarantees and budgets count what is evicted already
				return flush
			}
		}
	}
	d.decide(r, d.planFor([]*request{r}, lack), lack)
	if len(lack) > 0 && !d.commit() { // a plan for others beside it would not free the quota
		return flush
	}
	return waits
}

// mustTell reports whether the resource manager has to hear of what was done before it
// is asked again.
func (d *round) mustTell() bool {
	asks := d.options.Feasible != nil || d.options.Simulate != nil
	return asks && d.node.placedIn == d.batch || d.options.Budgets != nil && d.evictions.batched == d.batch
}

// joins reports whether an ask can be planned together with those before it: it is old
// enough, and sees queues as they do.
func (d *round) joins(r *request) bool {
	if len(d.together) == 0 {
		return true
	}
	alike := d.costs.flat || r.application.queue == d.together[0].application.queue
	return alike && !r.NeverPreempts() && d.now.Sub(r.wait.since) >= d.preemption.RequiredNode.StartDelay
}

// decide does for an ask what was planned for it alone.
func (d *round) decide(r *request, plan preemptor.Decision, lack quotaNeed) {
	w := r.wait
	w.planned, w.detail, w.decided = d.node.revision, "", &plan
	if plan.Reason == preemptor.Chosen && d.attempts.loops(r) {
		w.detail = d.holdsBack(r)
		d.kept.end(r, w.detail, api.EndOfRoom)
		return
	}
	if plan.Reason != preemptor.WaitsForReleasing || !r.promised() || w.plan == nil {
		w.plan, w.plannedAt = &plan, d.now // else the record of what was chosen says more
	}
	switch plan.Reason {
	case preemptor.Chosen:
		before := d.plan.Victims
		d.plan = plan
		d.plan.Victims = slices.Concat(before, plan.Victims)
		d.join(r)
		d.spare(lack)
	case preemptor.WaitsForReleasing, preemptor.RoomIsThere:
		d.kept.promise(r, d.node)
		d.kept.settleQuota(r)
	case preemptor.TooYoung:
		if r.promised() {
			d.kept.end(r, "it is too early for evictions", api.EndOfRoom)
		}
		d.kept.reserve(r, d.node)
		w.due.retry = plan.Again
		d.setTimer(r)
	default:
		d.giveUp(r, lack)
	}
}

// join has an ask planned together with those before it.
func (d *round) join(r *request) {
	d.kept.promise(r, d.node)
	if len(d.together) == 0 {
		d.broken = d.kept.broken
	}
	d.together = append(d.together, r)
	d.wanted.Add(r.Amounts)
}

// giveUp notes that no room can be made for an ask. It is tried again when its node
// changes, or what it lacks of quota is there; what the resource manager said is asked
// again after a while.
func (d *round) giveUp(r *request, lack quotaNeed) {
	w := r.wait
	d.hopeless = r
	if len(lack) > 0 {
		d.kept.end(r, r.whyNoQuota(), api.EndOfQuota)
		w.reason, w.detail, w.plan = api.QuotaExceeded, string(r.withoutRoom().path), nil
		return
	}
	conflicts := !r.NeverPreempts() && slices.ContainsFunc(w.plan.Failures, isRefusal)
	if conflicts {
		d.kept.end(r, "it is refused on its node", api.EndByRefusal)
	} else {
		d.kept.end(r, "no room can be made for it", api.EndOfRoom)
	}
	if r.NeverPreempts() {
		w.plan, w.detail = nil, "nothing is to be evicted for it"
		return
	}
	if conflicts || d.predicates.budgetsBind() {
		d.retryAt(r, d.now.Add(d.options.RetryMax))
	}
	d.reportFull(r)
}

// reportFull tells that no room can be made on the required node of an ask.
func (d *round) reportFull(r *request) {
	d.tell(&api.AskReport{Allocation: r.Allocation, Why: d.waitsFor(r)})
}

// retryAt has an ask tried again at a time at the latest.
func (p *Partition) retryAt(r *request, at time.Time) {
	if w := r.wait; w.due.retry.IsZero() || at.Before(w.due.retry) {
		w.due.retry = at
		p.setTimer(r)
	}
}

// refusedOnItsNode lets go of the node of a bound ask that the resource manager refuses
// there. One that may run on no other is asked about again later.
func (p *Partition) refusedOnItsNode(r *request, err error) {
	p.kept.end(r, err.Error(), api.EndByRefusal)
	w := r.waiting()
	w.plan = nil
	w.reason, w.detail = api.Infeasible, err.Error()
	if r.Required != "" {
		p.retryAt(r, p.now.Add(p.options.RetryMax))
	}
}

// isStillRefused reports whether the resource manager refused an ask on its required node, and there is
// no reason to ask again yet.
func (d *round) isStillRefused(r *request) bool {
	w := r.wait
	return w != nil && w.reason == api.Infeasible && w.planned == d.node.revision && !w.due.retry.IsZero()
}

// planHolds reports whether the last plan for an ask would come out the same: the
// node has not changed, and if it was too early for one, it still is.
func planHolds(r *request, n *node, now time.Time) bool {
	w := r.wait
	return w != nil && w.plan != nil && w.planned == n.revision &&
		(w.plan.Reason != preemptor.TooYoung || w.plan.Again.After(now))
}
