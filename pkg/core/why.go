package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// waitsFor says why an ask waits. What was learnt from another of its class holds
// for it too.
func (b *backlog) waitsFor(r *ledger.Request) *api.Waiting {
	v := new(api.Waiting)
	w := r.Wait
	if held := r.Reservation(); held != nil {
		v.Reserved = held.Node
	}
	if w != nil {
		v.Plan, v.Planned, v.Decided = w.Plan, w.PlannedAt, w.Decided
	}
	v.Attempts = b.lastAttempts(r)
	if s := b.classOf(r).simulations; s != nil && s.learnt {
		v.Unresolvable = s.unresolvable.Share()
	}
	if nominated := r.Nominated(); nominated != nil {
		v.Nominated, v.Trigger = nominated.Node.ID, nominated.Trigger
		v.Reason, v.Detail = api.RoomIsMade, string(nominated.Node.ID)
		v.Refusals = b.classOf(r).refused.forView()
		return v
	}
	v.Reason, v.Detail = b.reason(r)
	switch c := b.classOf(r); {
	case v.Reason != api.Infeasible:
	case r.Required != "":
		v.Refusals = []api.Refusal{{Text: v.Detail, Nodes: 1, First: []api.NodeID{r.Required}}}
	case c.unschedulable && c.refused.asked.IsAll():
		v.Refusals, v.RefusedOn = c.refused.forView(), c.refused.before.nodes()
	case c.unschedulable:
		v.IsAsked = true
	}
	return v
}

// lastAttempts are the last preemption attempts for an ask, or, if there are none and
// none is to be made, those for another one of its class.
func (b *backlog) lastAttempts(r *ledger.Request) []api.PreemptionAttempt {
	if r.Wait != nil && r.Wait.Attempts != nil {
		return r.Wait.Attempts
	}
	if leaf := b.ofQueue(r.App.Queue).classes[b.classOf(r)]; leaf != nil && !leaf.active {
		return leaf.last
	}
	return nil
}

// reason is why an ask waits that is not nominated.
func (b *backlog) reason(r *ledger.Request) (api.Reason, string) {
	w := r.Wait
	switch {
	case w.Paused() && w.Guard.Why != "" && !(r.Required != "" && w.Reason == api.Infeasible):
		return api.LoopStopped, w.Guard.Why // a refusal on the required node says more
	case r.Unknown != nil:
		return api.KindUnknown, r.UnknownKinds()
	case w != nil && (w.Delayed || w.Held || r.Required != ""):
		return w.Reason, w.Detail
	case b.classOf(r).unschedulable && b.classOf(r).refused.text() != "":
		return api.Infeasible, b.classOf(r).refused.text()
	}
	if held := r.HeldBack(); held != nil {
		return r.WhyHeldBack(held)
	}
	if over := r.WithoutRoom(); over != nil {
		return api.QuotaExceeded, string(over.Path)
	}
	switch {
	case b.classOf(r).parked && b.classOf(r).slots.impossible != "":
		return api.Impossible, b.classOf(r).slots.impossible
	case b.classOf(r).parked:
		return api.NoNodeFits, ""
	case w != nil && w.Bindings == 0:
		return w.Reason, w.Detail
	}
	if app := r.App; app.BacksOff() {
		return api.NotTried, app.Failures.Backoff.Why
	}
	return api.NotTried, ""
}
