package backlog

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// WaitsFor says why an ask waits. What was learnt from another of its class holds
// for it too.
func (b *Backlog) WaitsFor(r *ledger.Request) *api.Waiting {
	v := new(api.Waiting)
	w := r.Wait
	if held := r.Reservation(); held != nil {
		v.Reserved = held.Node
	}
	if w != nil {
		v.Plan, v.Planned, v.Hinted = w.Plan, w.PlannedAt, w.Hinted
	}
	v.Attempts = b.lastAttempts(r)
	v.Unresolvable = b.ClassOf(r).Simulations.ForView()
	if nominated := r.Nominated(); nominated != nil {
		v.Nominated, v.Trigger = nominated.Node.ID, nominated.Trigger
		v.Reason, v.Detail = api.RoomIsMade, string(nominated.Node.ID)
		v.Refusals = b.ClassOf(r).Refused.ForView()
		return v
	}
	v.Reason, v.Detail = b.reason(r)
	switch c := b.ClassOf(r); {
	case v.Reason != api.Infeasible:
	case r.Required != "":
		v.Refusals = []api.Refusal{{Text: v.Detail, Nodes: 1, First: []api.NodeID{r.Required}}}
	case c.Unschedulable && c.Refused.AreOfAll():
		v.Refusals, v.RefusedOn = c.Refused.ForView(), c.Refused.Nodes()
	case c.Unschedulable:
		v.IsAsked = true
	}
	return v
}

// lastAttempts are the last preemption attempts for an ask, or, if there are none and
// none is to be made, those for another one of its class.
func (b *Backlog) lastAttempts(r *ledger.Request) []api.PreemptionAttempt {
	if r.Wait != nil && r.Wait.Attempts != nil {
		return r.Wait.Attempts
	}
	if leaf := b.OfQueue(r.App.Queue).classes[b.ClassOf(r)]; leaf != nil && !leaf.Active {
		return leaf.Last
	}
	return nil
}

// reason is why an ask waits that is not nominated.
func (b *Backlog) reason(r *ledger.Request) (api.Reason, string) {
	w := r.Wait
	switch {
	case w.Paused() && w.Guard.Why != "" && !(r.Required != "" && w.Reason == api.Infeasible):
		return api.LoopStopped, w.Guard.Why // a refusal on the required node says more
	case r.Unknown != nil:
		return api.KindUnknown, r.UnknownKinds()
	case w != nil && (w.Delayed || w.Held || r.Required != ""):
		return w.Reason, w.Detail
	case b.ClassOf(r).Unschedulable && b.ClassOf(r).Refused.Text() != "":
		return api.Infeasible, b.ClassOf(r).Refused.Text()
	}
	if held := r.HeldBack(); held != nil {
		return r.WhyHeldBack(held)
	}
	if over := r.WithoutRoom(); over != nil {
		return api.QuotaExceeded, string(over.Path)
	}
	switch {
	case b.ClassOf(r).Parked && b.ClassOf(r).Impossible != "":
		return api.Impossible, b.ClassOf(r).Impossible
	case b.ClassOf(r).Parked:
		return api.NoNodeFits, ""
	case w != nil && w.Bindings == 0:
		return w.Reason, w.Detail
	}
	if app := r.App; app.BacksOff() {
		return api.NotTried, app.Failures.Backoff.Why
	}
	return api.NotTried, ""
}
