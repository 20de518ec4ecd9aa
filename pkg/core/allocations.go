package core

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// refuse answers an allocation that is not booked, with the reason.
func (p *Partition) refuse(a *api.Allocation, format string, args ...any) {
	p.Tell(&api.AllocationRejected{Key: a.Key, Application: a.Application, Reason: fmt.Sprintf(format, args...)})
}

// addAllocation takes in an ask, an adopted allocation, a foreign one, or new
// amounts for one that is known.
func (p *Partition) addAllocation(a *api.Allocation) {
	if kind, negative := a.Amounts.Negative(); negative {
		p.refuse(a, "allocation %s contains negative resources: %s=%d", a.Key, p.Kinds.Name(kind), a.Amounts.Of(kind))
		return
	}
	known := p.Requests[a.Key]
	switch {
	case a.Key == "":
		p.refuse(a, "an allocation without a key")
	case a.Amounts.IsZero():
		p.refuse(a, "allocation %s contains no resources", a.Key)
	case a.IsForeign():
		p.takeForeign(a, known)
	case known == nil:
		p.addOwn(a)
	case known.Foreign():
		p.refuse(a, "allocation %s is known as foreign and cannot join application %s", a.Key, a.Application)
	case known.Application != a.Application:
		p.refuse(a, "allocation %s is known as one of application %s", a.Key, known.Application)
	default:
		p.updateOwn(known, a)
	}
}

// takeForeign takes in a foreign allocation, or what is new about one.
func (p *Partition) takeForeign(a *api.Allocation, known *ledger.Request) {
	switch {
	case a.Node == "":
		p.refuse(a, "foreign allocation %s names no node", a.Key)
		return
	case known != nil && !known.Foreign():
		p.refuse(a, "allocation %s is known as one of application %s and cannot become foreign", a.Key, known.Application)
		return
	case !p.makeKnown(&a):
		return
	case known != nil && known.Node != a.Node:
		p.evictions.Cancel(known) // it ended where it was evicted
	}
	if known == nil {
		p.settling.Extend()
	}
	r := p.AddForeign(a, known)
	p.evictions.Report(r, a.Tags)
	p.refused.Tied(r, nil)
}

func (p *Partition) addOwn(a *api.Allocation) {
	app := p.FindApplication(a.Application)
	switch {
	case app == nil:
		p.refuse(a, "application %q is not registered", a.Application)
		return
	case a.Placeholder && a.TaskGroup == "":
		p.refuse(a, "placeholder %s names no task group", a.Key)
		return
	case a.Tags[api.TagQuorumDone] == "true":
		if g := p.AddDone(a, app); g != nil {
			p.restateGroup(g)
		}
		return
	case a.Node != "" && p.FindNode(a.Node) == nil:
		p.refuse(a, "node %s of allocation %s is not registered", a.Node, a.Key)
		return
	case a.Node != "" && !p.makeKnown(&a):
		return
	}
	if len(a.Unknown) > 0 {
		a = a.WithKnown(p.Kinds, p.HasKind)
	}
	if app.State == api.Failing && a.Node == "" {
		p.refuse(a, "application %s fails", app.ID)
		return
	}
	r := p.Register(a, app)
	if r.StartsWith != nil {
		p.followGroup(r)
	}
	app.Date(a.Created)
	if a.Node != "" {
		p.adopt(r, a.Node)
		p.evictions.Report(r, a.Tags)
		return
	}
	if app.State == api.New || app.State == api.Completing {
		next := api.Accepted
		if app.State == api.Completing {
			next = api.Running
		}
		p.enter(app, next, "")
	}
	p.ask(r)
	if r.Tags[api.TagNominatedNode] != "" && !r.IsHeld() && !r.StartsTogether() {
		p.renominations.Add(r)
	}
	p.Tell(api.AskAdded{Allocation: r.Allocation})
}

// adopt books an allocation that runs already. Neither a node nor a quota
// refuses it. The request is in no list.
func (p *Partition) adopt(r *ledger.Request, id api.NodeID) {
	app, n := r.App, p.FindNode(id)
	if app.State == api.New {
		p.enter(app, api.Accepted, "")
	}
	r.Becomes(r.PlacedOn(id, p.Now))
	p.order.Arrives(r)
	p.run(r, n)
	p.bookedBeyond(r)
	p.settling.Extend()
	p.Changes.Node(n, ledger.NodeRetry)
	p.refused.Tied(r, nil)
	p.Tell(api.Adopted{Allocation: r.Allocation})
}

// bookedBeyond records that something was booked which neither node nor quota
// refuses.
func (p *Partition) bookedBeyond(r *ledger.Request) {
	r.RunsOn.AllowExcess()
	r.App.AllowExcess()
	p.Changes.Application(r.App, ledger.QuotaBooked)
}

// updateOwn takes new amounts, or the message that a pending ask has been placed.
func (p *Partition) updateOwn(r *ledger.Request, a *api.Allocation) {
	runs := r.RunsOn != nil
	switch {
	case runs && a.Node != "" && a.Node != r.Node:
		p.refuse(a, "allocation %s runs on node %s and cannot move to %s", a.Key, r.Node, a.Node)
		return
	case !runs && a.Node != "" && p.FindNode(a.Node) == nil:
		p.refuse(a, "node %s of allocation %s is not registered", a.Node, a.Key)
		return
	case (runs || a.Node != "") && !p.makeKnown(&a):
		return
	}
	a = a.WithKnown(p.Kinds, p.HasKind)
	switch {
	case runs:
		if !r.Amounts.Equal(a.Amounts) {
			p.resize(r, a)
		}
	case a.Node != "":
		p.endWait(r)
		r.Becomes(r.WithAmountsOf(a))
		p.adopt(r, a.Node)
	case !r.Amounts.Equal(a.Amounts) || !maps.Equal(r.Unknown, a.Unknown):
		if r.Nominated() != nil {
			p.kept.Clear(r, "it asks for other amounts", api.EndOfRoom)
		}
		p.waitAs(r, r.WithAmountsOf(a))
	default: // what it requires of nodes may have changed, or what the resource manager says of them
		p.Reclass(r, p.ClassNow(r, p.predicates.ConstraintsOf(r)))
		p.refused.AskAnew(p.ClassOf(r))
		p.groups.AskAnew(r)
		if r.Wait != nil && r.Wait.Delayed { // so that it may be bound now
			p.tryAgain(r)
		}
	}
	p.retagOwn(r, a.Tags)
	p.evictions.Report(r, a.Tags)
}

// retagOwn takes new tags: that others depend on an allocation is often known only once it
// runs. A message without any tags says nothing of them.
func (p *Partition) retagOwn(r *ledger.Request, tags map[string]string) {
	if len(tags) == 0 || maps.Equal(r.Tags, tags) {
		return
	}
	p.Retag(r, tags)
	p.groups.Regroup(r)
	if r.StartsWith != nil || r.OwnPriority != nil { // or it has left one
		p.followGroup(r)
	}
	if r.RunsOn != nil {
		p.TagsChanged(r)
	}
}

// waitAs has an ask wait on as something else.
func (p *Partition) waitAs(r *ledger.Request, a *api.Allocation) {
	before, since := r.Wait, p.slots.Since(p.ClassOf(r))
	p.endWait(r)
	r.Becomes(a)
	p.ask(r)
	p.keepAge(r, before, since)
	p.Tell(api.AskResized{Allocation: r.Allocation})
}

// keepAge has an ask wait on after it was resized: since when it has fitted no node, which
// victims ended for it, and until when no room is made for it.
func (p *Partition) keepAge(r *ledger.Request, before *ledger.Wait, since time.Time) {
	p.slots.KeepAge(p.ClassOf(r), since)
	if before == nil {
		return
	}
	r.Waiting().LacksRoom(before.Since)
	if before.Paused() {
		p.attempts.KeepBack(r, before.Guard.Until, before.Guard.Why)
	}
}

// resize changes the amounts of an allocation where it runs. Like adoption it
// is never refused.
func (p *Partition) resize(r *ledger.Request, to *api.Allocation) {
	n, before := r.RunsOn, r.Amounts
	if r.IsReplaced() {
		p.kept.Rejoin(r.Pair().Ask) // it may not fit any more
	}
	if r.Placeholder {
		p.ResizeMember(r, to.Amounts)
	}
	p.Unbook(r)
	r.Becomes(r.WithAmountsOf(to))
	p.Book(r, n)
	p.bookedBeyond(r)
	p.Tell(&api.Resized{Allocation: r.Allocation, Before: before})
}

// makeKnown makes the kinds of an allocation known that runs. If there is no place for
// them, it is refused.
func (p *Partition) makeKnown(a **api.Allocation) bool {
	if len((*a).Unknown) == 0 {
		return true // of almost every one
	}
	for _, name := range slices.Sorted(maps.Keys((*a).Unknown)) {
		if _, err := p.Kinds.Intern(name); err != nil {
			p.refuse(*a, "allocation %s: %v", (*a).Key, err)
			return false
		}
	}
	*a = (*a).WithKnown(p.Kinds, func(string) bool { return true })
	return true
}

// learnKinds has the asks tried that wait for a kind which a node has.
func (p *Partition) learnKinds(capacity resources.Amounts) {
	if len(p.Unknown) == 0 {
		return
	}
	for i, quantity := range capacity {
		if set := p.Unknown[p.Kinds.Name(resources.Kind(i))]; set != nil && quantity > 0 {
			for _, r := range set.List() {
				p.waitAs(r, r.WithAmountsOf(r.Allocation.WithKnown(p.Kinds, p.HasKind)))
			}
		}
	}
}

// releaseAllocation removes one request, or all of an application. What is not
// known is gone already, which is what was asked for.
func (p *Partition) releaseAllocation(c api.ReleaseAllocation) {
	if c.Key == "" {
		p.releaseAll(c)
		return
	}
	r := p.Requests[c.Key]
	switch {
	case r == nil && c.Message == api.Succeeded: // said twice
	case r == nil:
		p.EndDone(c.Key)
	case r.Foreign():
		p.evictions.Cancel(r)
		p.ReleaseForeign(r)
		p.refused.Tied(r, nil)
	case r.Application != c.Application && c.Application != "":
	case c.Termination == api.SchedulingFailed && r.RunsOn == nil: // said twice
	case c.Termination == api.SchedulingFailed && !r.IsToEnd() && r.App.State == api.Completing:
		p.evictions.Dismiss(r, api.CauseTimedOut, nothingLeft) // a placeholder, which is asked for no more
	case c.Termination == api.SchedulingFailed && !r.IsToEnd():
		p.bindFailed(r, c.Message)
	default:
		if c.Termination == api.SchedulingFailed { // it was to end for its gang, and has not begun
			c.Termination = si.TerminationType_TIMEOUT
		}
		p.releaseOwn(r, c)
		p.completeLater(r.App)
	}
}

func (p *Partition) releaseAll(c api.ReleaseAllocation) {
	app := p.FindApplication(c.Application)
	if app == nil {
		return
	}
	for _, r := range ledger.ByKey(app.Allocations) {
		p.releaseOwn(r, c)
	}
	if c.Termination != si.TerminationType_TIMEOUT {
		for _, r := range ledger.ByKey(app.Asks) {
			p.releaseOwn(r, c)
		}
	}
	p.completeLater(app)
}

// releaseOwn takes an ask or allocation off the books.
func (p *Partition) releaseOwn(r *ledger.Request, c api.ReleaseAllocation) {
	if r.RunsOn == nil {
		p.endAsk(r, causeOf(c.Termination))
		return
	}
	p.endAllocation(r, causeOf(c.Termination), c.Message)
}

// endAsk takes an ask off the books for good.
func (p *Partition) endAsk(r *ledger.Request, cause api.EndCause) {
	p.Tell(&api.AskEnded{Allocation: r.Allocation, Cause: cause})
	p.endWait(r)
	p.Forget(r)
}

// endAllocation takes an allocation off the books for good.
func (p *Partition) endAllocation(r *ledger.Request, cause api.EndCause, message string) {
	n, g, evicted := r.RunsOn, r.StartsWith, r.Victim()
	p.evictions.Cancel(r)
	p.Unbook(r)
	succeeded := cause == api.CauseReleased && message == api.Succeeded
	if succeeded {
		p.Succeeded(r)
	}
	p.Forget(r)
	if cause == api.CauseReleased && !succeeded && !evicted {
		p.groups.Lose(r, g, n)
	}
	p.refused.Tied(r, nil)
	p.Tell(&api.Ended{Allocation: r.Allocation, Cause: cause, Message: message, Evicted: evicted})
	if r.Placeholder {
		p.placeholderEnded(r, n)
	}
}

// causeOf is why a release ends an allocation. What says nothing is taken for
// the wish of the resource manager.
func causeOf(t si.TerminationType) api.EndCause {
	switch t {
	case si.TerminationType_TIMEOUT:
		return api.CauseTimedOut
	case si.TerminationType_PREEMPTED_BY_SCHEDULER:
		return api.CausePreempted
	case si.TerminationType_PLACEHOLDER_REPLACED:
		return api.CauseReplaced
	}
	return api.CauseReleased
}

// bindFailed makes an allocation an ask again, which is tried after a while,
// and elsewhere if there is an elsewhere.
func (p *Partition) bindFailed(r *ledger.Request, message string) {
	n := r.RunsOn
	evicted := r.Victim()
	p.evictions.Cancel(r)
	wasted := r.RoomWasted()
	p.Unbook(r)
	p.refused.Tied(r, nil)
	p.Tell(&api.Ended{Allocation: r.Allocation, Cause: api.CauseBindFailed, Message: message, Evicted: evicted})
	settled := r.Settled
	r.Becomes(r.Unplaced())
	delay := min(guard.Doubled(p.Options.RetryDelay, r.Waiting().Bindings), p.Options.RetryMax)
	r.Wait.BindingFailed(n.ID, message)
	if wasted && r.Required == "" {
		r.App.Failed().Loop.Count()
	}
	p.ask(r)
	if settled { // its victim has ended for it all the same
		p.kept.TakesEqual(r)
	}
	p.SetMoment(r, backlog.Retry, p.Now.Add(delay))
	p.Tell(api.AskAdded{Allocation: r.Allocation})
	if r.App.State == api.Resuming {
		p.followGang(r.App) // it may have been its last placeholder
	}
}
