package core

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// refuse answers an allocation that is not booked, with the reason.
func (p *Partition) refuse(a *Allocation, format string, args ...any) {
	p.tell(&AllocationRejected{Key: a.Key, Application: a.Application, Reason: fmt.Sprintf(format, args...)})
}

// addAllocation takes in an ask, an adopted allocation, a foreign one, or new
// amounts for one that is known.
func (p *Partition) addAllocation(a *Allocation) {
	if kind, negative := a.Amounts.Negative(); negative {
		p.refuse(a, "allocation %s %v: %s=%d", a.Key, ErrNegativeResources, p.kinds.Name(kind), a.Amounts.Of(kind))
		return
	}
	known := p.requests[a.Key]
	switch {
	case a.Key == "":
		p.refuse(a, "an allocation without a key")
	case a.Amounts.IsZero():
		p.refuse(a, "allocation %s %v", a.Key, ErrNoResources)
	case a.IsForeign():
		p.addForeign(a, known)
	case known == nil:
		p.addOwn(a)
	case known.foreign():
		p.refuse(a, "allocation %s is known as foreign and cannot join application %s", a.Key, a.Application)
	case known.Application != a.Application:
		p.refuse(a, "allocation %s is known as one of application %s", a.Key, known.Application)
	default:
		p.updateOwn(known, a)
	}
}

func (p *Partition) addOwn(a *Allocation) {
	app := p.findApplication(a.Application)
	switch {
	case app == nil:
		p.refuse(a, "application %q is not registered", a.Application)
		return
	case a.Placeholder && a.TaskGroup == "":
		p.refuse(a, "placeholder %s names no task group", a.Key)
		return
	case a.Node != "" && p.findNode(a.Node) == nil:
		p.refuse(a, "node %s of allocation %s is not registered", a.Node, a.Key)
		return
	case p.uncountable(a.Amounts):
		p.refuse(a, "allocation %s is more than can be counted together with what is known", a.Key)
		return
	}
	p.arrivals++
	r := &request{Allocation: a, application: app, number: p.arrivals}
	p.requests[a.Key] = r
	if a.Created.Before(app.submitted) {
		app.submitted = a.Created
	}
	if a.Node != "" {
		p.adopt(r, a.Node)
		return
	}
	if app.state == New || app.state == Completing {
		next := Accepted
		if app.state == Completing {
			next = Running
		}
		p.enter(app, next, "")
	}
	p.enqueue(r)
	p.tell(AskAdded{r.Allocation})
}

// uncountable reports whether a sum over the partition would saturate.
func (p *Partition) uncountable(amounts resources.Amounts) bool {
	return p.root.pending.Overflows(p.root.used, p.foreign, amounts)
}

// adopt books an allocation that runs already. Neither a node nor a quota
// refuses it. The request is in no list.
func (p *Partition) adopt(r *request, id NodeID) {
	app, n := r.application, p.findNode(id)
	if app.state == New {
		p.enter(app, Accepted, "")
	}
	r.Allocation = r.placedOn(id, p.now)
	p.book(r, n)
	n.tolerate()
	app.queue.tolerate()
	p.watchUp(app.queue, true)
	p.recheckQuota()
	p.settleNode(n)
	p.disturb(n)
	p.rouseRobbed(n, r)
	p.settleAbove(app)
	p.tell(Adopted{r.Allocation})
}

// updateOwn takes new amounts, or the word that a pending ask has been placed.
func (p *Partition) updateOwn(r *request, a *Allocation) {
	placed := r.node != nil
	switch {
	case placed && a.Node != "" && a.Node != r.Node:
		p.refuse(a, "allocation %s runs on node %s and cannot move to %s", a.Key, r.Node, a.Node)
		return
	case !placed && a.Node != "" && p.findNode(a.Node) == nil:
		p.refuse(a, "node %s of allocation %s is not registered", a.Node, a.Key)
		return
	case p.uncountable(a.Amounts):
		p.refuse(a, "allocation %s keeps its resources: the new ones are more than can be counted", a.Key)
		return
	}
	switch {
	case placed:
		if before := r.Amounts; !before.Equal(a.Amounts) {
			p.resize(r, a.Amounts)
			p.tell(&Resized{r.Allocation, before})
		}
	case a.Node != "":
		p.dequeue(r)
		r.Allocation = r.resized(a.Amounts)
		p.adopt(r, a.Node)
	case !r.Amounts.Equal(a.Amounts):
		if r.nominated() != nil {
			p.clearNomination(r, "it asks for other amounts")
		}
		p.dequeue(r)
		r.Allocation = r.resized(a.Amounts)
		p.enqueue(r)
		p.tell(AskResized{r.Allocation})
	}
}

// resize changes the amounts of an allocation where it runs. Like adoption it
// is never refused.
func (p *Partition) resize(r *request, amounts resources.Amounts) {
	n, app := r.node, r.application
	p.unbook(r)
	r.Allocation = r.resized(amounts)
	p.book(r, n)
	n.tolerate()
	app.queue.tolerate()
	p.watchUp(app.queue, true)
	p.recheckQuota()
	p.readmit(app.queue)
	p.settleAbove(app)
	p.relieved(n)
}

// releaseAllocation removes one request, or all of an application. What is not
// known is gone already, which is what was asked for.
func (p *Partition) releaseAllocation(c ReleaseAllocation) {
	if c.Key == "" {
		p.releaseAll(c)
		return
	}
	if c.Application == "" {
		p.releaseForeign(c.Key)
		return
	}
	r := p.requests[c.Key]
	switch {
	case r == nil || r.Application != c.Application:
	case c.Termination == SchedulingFailed && r.node == nil: // said twice
	case c.Termination == SchedulingFailed:
		p.bindFailed(r, c.Message)
	default:
		p.releaseOwn(r, c)
		p.rest(r.application)
	}
}

func (p *Partition) releaseAll(c ReleaseAllocation) {
	app := p.findApplication(c.Application)
	if app == nil {
		return
	}
	for _, r := range p.unplaceAll(app) {
		p.ended(r, causeOf(c.Termination), c.Message)
	}
	if c.Termination != si.TerminationType_TIMEOUT {
		for _, r := range byKey(app.asks) {
			p.releaseOwn(r, c)
		}
	}
	p.rest(app)
}

// releaseOwn takes an ask or allocation off the books.
func (p *Partition) releaseOwn(r *request, c ReleaseAllocation) {
	if r.node == nil {
		p.tell(&AskEnded{r.Allocation, causeOf(c.Termination)})
		p.dequeue(r)
		p.forget(r)
		return
	}
	n := r.node
	p.unplace(r)
	p.forget(r)
	p.relieved(n)
	p.ended(r, causeOf(c.Termination), c.Message)
}

// ended says that an allocation runs no more.
func (p *Partition) ended(r *request, cause EndCause, message string) {
	p.tell(&Ended{Allocation: r.Allocation, Cause: cause, Message: message, Evicted: r.going != nil})
}

// causeOf is why a release ends an allocation. What says nothing is taken for
// the wish of the resource manager.
func causeOf(t si.TerminationType) EndCause {
	switch t {
	case si.TerminationType_TIMEOUT:
		return CauseTimedOut
	case si.TerminationType_PREEMPTED_BY_SCHEDULER:
		return CausePreempted
	case si.TerminationType_PLACEHOLDER_REPLACED:
		return CauseReplaced
	}
	return CauseReleased
}

// bindFailed makes an allocation an ask again, which is tried after a while,
// and elsewhere if there is an elsewhere.
func (p *Partition) bindFailed(r *request, message string) {
	n := r.node
	p.unplace(r)
	p.ended(r, CauseBindFailed, message)
	r.Allocation, r.going = r.unplaced(), nil
	w := r.waiting()
	w.reason, w.detail, w.avoid = BindFailed, message, n.id
	w.at = p.now.Add(min(p.options.RetryDelay<<min(w.tries, 20), p.options.RetryMax))
	w.tries++
	w.aside = true
	p.enqueue(r)
	p.tell(AskAdded{r.Allocation})
	p.alarms.add(alarm{at: w.at, request: r})
	p.relieved(n)
}

// forget drops a request that is in no list any more.
func (p *Partition) forget(r *request) { delete(p.requests, r.Key) }

// book charges an allocation to its node and to the accounts of its queue.
func (p *Partition) book(r *request, n *node) {
	app := r.application
	n.charge(r)
	app.queue.charge(r.Amounts)
	if r.leaves() {
		app.queue.leave(r.Amounts)
	}
	p.running.add(r.Priority)
	app.queue.runs(r)
	app.used.Add(r.Amounts)
	app.allocations = enlist(app.allocations, r, &r.at)
	if app.state != Running {
		p.enter(app, Running, "")
	}
}

func (p *Partition) unbook(r *request) {
	app := r.application
	r.node.discharge(r)
	app.queue.discharge(r.Amounts)
	if r.leaves() {
		app.queue.left(r.Amounts)
	}
	p.running.remove(r.Priority)
	app.queue.ends(r)
	app.used.Sub(r.Amounts)
	app.allocations = delist(app.allocations, r.at, atApplication)
}

// unplace takes an allocation off the books and lets in what waited for the
// quota. The node is left to the caller.
func (p *Partition) unplace(r *request) {
	p.unbook(r)
	p.yielded(r.application)
}

func (p *Partition) yielded(app *application) {
	p.watchUp(app.queue, false)
	p.readmit(app.queue)
	p.settleAbove(app)
}

// unplaceAll takes all allocations of an application off the books, forgets them and
// returns them by key. Queues and nodes are put in order once, not for each of them.
func (p *Partition) unplaceAll(app *application) []*request {
	all := byKey(app.allocations)
	if len(all) == 0 {
		return nil
	}
	var nodes []*node
	for _, r := range all {
		if n := r.node; !n.lighter {
			n.lighter = true
			nodes = append(nodes, n)
		}
		p.unbook(r)
		p.forget(r)
	}
	p.yielded(app)
	for _, n := range nodes {
		n.lighter = false
		p.relieved(n)
	}
	return all
}

// readmit has the asks tried again that waited for quota here or above.
func (p *Partition) readmit(q *queue) {
	for ; q != nil; q = q.parent {
		p.readmitAt(q)
	}
}

// readmitAt is readmit for one queue.
func (p *Partition) readmitAt(q *queue) {
	q.readmit()
	for _, r := range q.bound {
		if n := p.boundTo(r); n != nil {
			p.disturb(n)
		}
	}
	q.bound = nil
}

// settleAbove brings the places of an application and of the queues above it
// up to date.
func (p *Partition) settleAbove(app *application) {
	app.view = nil
	app.settle()
	app.queue.settleUp()
}
