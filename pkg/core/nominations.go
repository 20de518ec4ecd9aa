package core

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A nomination is a node that an ask has in view because room is made for it
// there. The room is kept from asks of its priority and below, and so is the
// quota. The ask may still run anywhere: whatever comes first.
type nomination struct {
	node    *node
	at      int // the place in the list of the partition
	since   time.Time
	trigger preemptor.Trigger
}

// nominate has a node keep room for an ask. Nobody is told to go before.
func (p *Partition) nominate(r *request, n *node, plan *preemptor.Decision) {
	if n.reserved != nil && n.reserved != r {
		p.preempted.Reservations++
		p.unreserve(n.reserved)
	}
	p.unreserve(r)
	w := r.waiting()
	w.nomination = &nomination{node: n, at: len(p.nominated), since: p.now, trigger: plan.Trigger}
	p.nominated = append(p.nominated, r)
	w.reason, w.detail = RoomIsMade, string(n.id)
	at, _ := slices.BinarySearchFunc(n.nominated, r, byStanding)
	n.nominated = slices.Insert(n.nominated, at, r)
	n.promised.Add(r.Amounts)
	r.application.queue.promise(r.Amounts)
	p.nominees.add(r.holds())
	p.preempted.Nominations++
	p.promisesChanged(n)
	p.reshape(r)
	message := fmt.Sprintf("nominated to node %s by %s: %s", n.id, plan.Trigger, plan.Summary(p.kinds))
	r.application.view = nil
	p.tell(&Nominated{r.Allocation, n.id, message, plan})
	p.disturb(n)
}

// unnominate takes a nomination off the books. What others may make of that is
// left to the caller.
func (p *Partition) unnominate(r *request, why string, waits bool) *node {
	n, at, last := r.wait.nomination.node, r.wait.nomination.at, len(p.nominated)-1
	p.nominated[at] = p.nominated[last]
	p.nominated[at].wait.nomination.at = at
	p.nominated[last] = nil
	p.nominated = p.nominated[:last]
	p.nominees.remove(r.holds())
	r.wait.nomination = nil
	n.nominated = without(n.nominated, r)
	n.promised.Sub(r.Amounts)
	r.application.queue.unpromise(r.Amounts)
	p.promisesChanged(n)
	r.application.view = nil
	p.tell(&NominationEnded{r.Allocation, n.id, why, waits})
	return n
}

// recheckQuota has nominated asks looked at again whose quota nobody frees any
// more.
func (p *Partition) recheckQuota() {
	for _, r := range p.nominated {
		if r.withoutRoom() != nil && r.quotaToFree() != nil {
			p.disturb(r.nominated().node)
		}
	}
}

// withdrawNomination gives up the room that a node keeps for an ask, if one does.
func (p *Partition) withdrawNomination(r *request) {
	if r.nominated() == nil {
		return
	}
	n := p.unnominate(r, "it waits no more", false)
	p.readmit(r.application.queue)
	p.relieved(n)
}

// clearNomination lets an ask look for room anew.
func (p *Partition) clearNomination(r *request, why string) {
	n := p.unnominate(r, why, true)
	r.wait.reason, r.wait.detail = NoNodeFits, ""
	p.readmit(r.application.queue)
	p.preempted.Cleared++
	p.reshape(r)
	p.relieved(n)
	r.application.queue.settleUp()
}

// clearNominations clears all of a node.
func (p *Partition) clearNominations(n *node, why string) {
	for _, r := range slices.Clone(n.nominated) {
		p.clearNomination(r, why)
	}
}

// promisesChanged brings a node in line with what it promises.
func (p *Partition) promisesChanged(n *node) {
	n.keepPromises()
	n.view = nil
	n.revision++
	p.settleNode(n)
}

// reshape gives an ask the shape that it has with or without a nomination.
func (p *Partition) reshape(r *request) {
	app := r.application
	ordered := r.links.In()
	if ordered {
		app.queued.Remove(r)
	}
	was := r.standing()
	p.shapes.leave(r.shape)
	p.takeShape(r)
	if ordered {
		app.queued.Insert(r)
	}
	if r.standing() != was {
		p.restand(r, was)
	}
	p.settleAbove(app)
}

// restand counts an ask anew whose standing has changed.
func (p *Partition) restand(r *request, was int32) {
	if held := r.nominated(); held != nil {
		if held.trigger != preemptor.Guarantee {
			p.nominees.remove(was)
			p.nominees.add(r.holds())
		}
		slices.SortFunc(held.node.nominated, byStanding)
		p.promisesChanged(held.node)
		p.disturb(held.node)
	}
	if held := r.reservation(); held != nil && !held.Required {
		p.reservers.remove(was)
		p.reservers.add(r.standing())
	}
}

// seenFromRoot is the priority of an ask as the root sees it, by which asks of
// all queues compare that are promised room on a node.
func (p *Partition) seenFromRoot(r *request) int32 {
	priority := r.Priority
	if p.plain {
		return priority
	}
	for q := r.application.queue; q != nil; q = q.parent {
		priority = q.properties.seenFromAbove(priority)
	}
	return priority
}

// standing is the priority of an ask that waits, as the root sees it.
func (r *request) standing() int32 { return r.shape.standing }

// holds is the standing with which an ask holds the room that is kept for it.
// What is due to its queue nobody takes away, as nobody could once it runs.
func (r *request) holds() int32 {
	if held := r.nominated(); held != nil && held.trigger == preemptor.Guarantee {
		return math.MaxInt32
	}
	return r.standing()
}

// byStanding compares nominated asks by their standing, then by their order.
func byStanding(a, b *request) int {
	return cmp.Or(cmp.Compare(b.holds(), a.holds()), inOrder(a, b))
}

// takeShape finds the shape of an ask that has none. It reports whether that
// begins a hunt, so that the queue is to be settled.
func (p *Partition) takeShape(r *request) (begun bool) {
	r.shape = p.shapes.of(r.Amounts, r.Priority, p.seenFromRoot(r), p.wantsRoom(r))
	p.shapes.join(r.shape)
	return r.shape.hunts && r.application.queue.beginHunt(r.shape)
}

// tryNominated tries the nominated asks of a node, the first in order first.
// Each is placed, waits on, or loses the nomination because there is no room
// for it beside those before it any more.
func (p *Partition) tryNominated(n *node) outcome {
	var promised resources.Amounts
	for _, r := range slices.Clone(n.nominated) {
		if r.nominated() == nil {
			continue // lost by what was done for those before it
		}
		p.work.Attempts++
		if p.awaits(r, n, promised) {
			if r.nominated() != nil {
				promised.Add(r.Amounts)
			}
			continue
		}
		switch result, err := p.consent(r, n, true); {
		case result == tellNow:
			return tellNow
		case result == waits && p.comesFree(r, n):
			promised.Add(r.Amounts)
		case result == waits:
			p.clearNomination(r, err.Error())
			p.restFromHunting(r, p.options.RetryMax)
		default:
			p.place(r, n)
		}
	}
	return waits
}

// awaits reports whether a nominated ask is to wait on. If it waits in vain it
// loses the nomination, and waits for something else.
func (p *Partition) awaits(r *request, n *node, promised resources.Amounts) bool {
	short := r.withoutRoom()
	free := n.free.Minus(promised).Minus(n.claims(r.Priority))
	switch {
	case short == nil && r.Amounts.FitsIn(free) && n.schedulable:
		return false
	case !r.Amounts.FitsIn(free.Plus(n.leaving)):
		p.clearNomination(r, n.whyLost())
	case short != nil && r.quotaToFree() != nil:
		p.clearNomination(r, fmt.Sprintf("the quota of queue %s is taken", short.path))
	case short != nil:
		p.awaitQuota(r, short)
	}
	return true
}

// readyNode is the node that a nominated ask has in view, if the room is there.
func (r *request) readyNode() *node {
	held := r.nominated()
	if held == nil || !held.node.openTo(r.standing()) || !r.Amounts.FitsIn(held.node.roomFor(r.standing()).Plus(r.Amounts)) {
		return nil
	}
	return held.node
}

// whyLost says what became of the room that a nominated ask was to get.
func (n *node) whyLost() string {
	if n.isStuck() {
		return "who was told to go does not go"
	}
	return "its room is taken"
}

// claims is what the asks of at least a priority hold that may run on this node
// only and wait for it.
func (n *node) claims(priority int32) resources.Amounts {
	var sum resources.Amounts
	for _, r := range n.wanted {
		if r.reservation() != nil && r.Priority >= priority {
			sum.Add(r.Amounts)
		}
	}
	return sum
}
