package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/api"

// waitsFor says why an ask waits. What was learnt from another of its class holds
// for it too.
func (b *backlog) waitsFor(r *request) *api.Waiting {
	v := new(api.Waiting)
	w := r.wait
	if held := r.reservation(); held != nil {
		v.Reserved = held.Node
	}
	if w != nil {
		v.Plan, v.Planned, v.Decided = w.plan, w.plannedAt, w.decided
	}
	v.Attempts = b.lastAttempts(r)
	if s := b.classOf(r).simulations; s != nil && s.learnt {
		v.Unresolvable = s.unresolvable.Share()
	}
	if nominated := r.nominated(); nominated != nil {
		v.Nominated, v.Trigger = nominated.node.id, nominated.trigger
		v.Reason, v.Detail = api.RoomIsMade, string(nominated.node.id)
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
func (b *backlog) lastAttempts(r *request) []api.PreemptionAttempt {
	if r.wait != nil && r.wait.attempts != nil {
		return r.wait.attempts
	}
	if leaf := b.ofQueue(r.application.queue).classes[b.classOf(r)]; leaf != nil && !leaf.active {
		return leaf.last
	}
	return nil
}

// reason is why an ask waits that is not nominated.
func (b *backlog) reason(r *request) (api.Reason, string) {
	w := r.wait
	switch {
	case w.paused() && w.guard.why != "" && !(r.Required != "" && w.reason == api.Infeasible):
		return api.LoopStopped, w.guard.why // a refusal on the required node says more
	case r.Unknown != nil:
		return api.KindUnknown, r.unknownKinds()
	case w != nil && (w.delayed || w.held || r.Required != ""):
		return w.reason, w.detail
	case b.classOf(r).unschedulable && b.classOf(r).refused.text() != "":
		return api.Infeasible, b.classOf(r).refused.text()
	}
	if held := r.heldBack(); held != nil {
		return r.whyHeldBack(held)
	}
	if over := r.withoutRoom(); over != nil {
		return api.QuotaExceeded, string(over.path)
	}
	switch {
	case b.classOf(r).parked && b.classOf(r).slots.impossible != "":
		return api.Impossible, b.classOf(r).slots.impossible
	case b.classOf(r).parked:
		return api.NoNodeFits, ""
	case w != nil && w.bindings == 0:
		return w.reason, w.detail
	}
	if app := r.application; app.backsOff() {
		return api.NotTried, app.failures.backoff.why
	}
	return api.NotTried, ""
}
