package core

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// nominations are the asks for which room is being made on a node.
//
//	list = the asks with a nomination, each at its place
type nominations struct {
	*backlog
	reservations *reservations
	promises     *promises
	counts       *Preempted
	gangs        *gangWork
	list         []*request
	priorities   priorityCounts    // with which they hold what is kept for them
	unkept       resources.Amounts // scratch
}

// add has a node keep room for an ask. Nothing is evicted before.
func (s *nominations) add(r *request, n *node, plan *preemptor.Decision) {
	over, overRequired := s.waitFor(r, n, plan)
	s.addOver(r, n, plan, over, overRequired)
}

// addOver is add with the room kept from others up to these priorities.
func (s *nominations) addOver(r *request, n *node, plan *preemptor.Decision, over, overRequired Standing) {
	if n.reserved != nil && n.reserved != r {
		s.counts.Reservations++
		s.reservations.unreserve(n.reserved)
	}
	s.reservations.unreserve(r)
	w := r.waiting()
	w.nomination = &nomination{node: n, at: len(s.list), since: s.now, trigger: plan.Trigger, over: over, overRequired: overRequired}
	s.list = append(s.list, r)
	w.reason, w.detail = RoomIsMade, string(n.id)
	at, _ := slices.BinarySearchFunc(n.nominated, r, byNomination)
	n.nominated = slices.Insert(n.nominated, at, r)
	n.details.change().nominatedAmounts.Add(r.Amounts)
	s.stamp++
	r.application.keep(r.Amounts, r.hold(), s.stamp)
	s.countKept(r.application, 1)
	s.priorities.add(r.nominationStanding().Root)
	s.counts.Nominations++
	s.nodeChanged(n, nodeRetry)
	s.reclassify(r)
	s.changes.application(r.application, 0)
	message := "nominated to node " + string(n.id) + " by " + plan.Trigger.String() + ": " + plan.Summary(s.kinds)
	s.tell(&Nominated{r.Allocation, n.id, message, plan, r.nominationStanding(), overRequired})
}

// rehold brings the books up to date after an ask holds what is kept for it in another way.
func (s *nominations) rehold(r *request, was hold) {
	s.priorities.remove(was.over.Root)
	s.priorities.add(r.nominationStanding().Root)
	slices.SortFunc(r.nominated().node.nominated, byNomination)
	s.stamp++
	r.application.unkeep(r.Amounts, was, s.stamp)
	r.application.keep(r.Amounts, r.hold(), s.stamp)
	s.changes.application(r.application, 0)
}

// waitFor are the highest priorities of the other asks that wait and could use the room
// that a plan makes, or the quota: of those that may run anywhere, and on one node only.
// Those that are nominated count too: when they lose their room they would take this one.
func (s *nominations) waitFor(r *request, n *node, plan *preemptor.Decision) (over, overRequired Standing) {
	over, overRequired = noStanding, noStanding
	if s.madeByGuarantee(r, n, plan) {
		over.Root = math.MaxInt32
	}
	if len(plan.Victims) == 0 {
		return over, overRequired
	}
	for other := range n.required.all {
		if !other.Amounts.FitsIn(n.capacity) {
			continue
		}
		if overRequired = overRequired.join(other.class.standing); s.plain {
			break // the first is the highest
		}
	}
	overRequired = overRequired.join(r.quotaWaiters())
	over = over.join(s.placesLost(plan)).join(s.gangsThatWait(n)).join(s.quorumsThatWait(n))
	over = over.join(overRequired) // no ordinary ask comes before those
	own := r.class.standing
	if !s.limited() && !s.isAbove(own) {
		return over, overRequired
	}
	bounds := topmostMax(r.application)
	for _, c := range s.classes.known { // the highest does not depend on the order
		if c.standing.compare(own) > 0 && len(c.groups) > 0 && (c.amounts.FitsIn(n.capacity) && !c.wasAskedAbout(n) || c.amounts.FitsIn(s.largest) && c.waitsWithin(&bounds)) {
			over = over.join(c.standing)
		}
	}
	return over, overRequired
}

// placesLost is the highest standing of the asks that wait for a placeholder among the victims
// of a plan, or for another of its task group: some of them are let when it goes.
func (s *nominations) placesLost(plan *preemptor.Decision) Standing {
	highest := noStanding
	for _, v := range plan.Victims {
		victim := s.requests[AllocationKey(v.Key)]
		if g := victim.groupOf(); g != nil && victim.Placeholder {
			for held := range g.held.all {
				highest = highest.join(held.class.standing)
			}
		}
	}
	return highest
}

// gangsThatWait is the highest standing of the asks of gangs that could run on a node and stand in no
// order: the gang fitted nowhere and is tried again before the others, or they wait for placeholders
// that wait themselves, and are tried alone when these time out.
func (s *nominations) gangsThatWait(n *node) Standing {
	highest := noStanding
	for _, app := range s.gangs.waiting {
		for _, r := range app.asks {
			if r.isHeld() && r.Amounts.FitsIn(n.capacity) {
				highest = highest.join(r.class.standing)
			}
		}
	}
	for g := range s.gangs.behind { // the highest does not depend on the order
		for r := range g.held.all {
			if r.Amounts.FitsIn(n.capacity) {
				highest = highest.join(r.class.standing)
				break // the first is the highest
			}
		}
	}
	return highest
}

// quorumsThatWait is the highest standing of the asks of quorums that do not fit, and of which one
// could run on a node.
func (s *nominations) quorumsThatWait(n *node) Standing {
	highest := noStanding
	for _, q := range s.gangs.quorums {
		for r := range q.asks.all {
			if q.waits && r.isHeld() && r.Amounts.FitsIn(n.capacity) {
				if highest = highest.join(r.class.standing); s.plain {
					break // the first is the highest
				}
			}
		}
	}
	return highest
}

// isAbove reports whether any ask that waits may be above a standing, whatever order it stands in.
func (s *nominations) isAbove(own Standing) bool {
	top := s.classes.roots.highest()
	return top > own.Root || top == own.Root && own.fences != ""
}

// nodeChanged brings a node in line with the asks that are nominated to it.
func (s *nominations) nodeChanged(n *node, what nodeChange) {
	n.recountRoom()
	n.view = nil
	n.revision++
	s.changes.node(n, what)
}

// remove takes a nomination off the books. The caller records that its node has room
// and its queue quota.
func (s *nominations) remove(r *request, why NominationEnded) *node {
	n, at, last := r.wait.nomination.node, r.wait.nomination.at, len(s.list)-1
	s.list[at] = s.list[last]
	s.list[at].wait.nomination.at = at
	s.list[last] = nil
	s.list = s.list[:last]
	s.priorities.remove(r.nominationStanding().Root)
	s.stamp++
	r.application.unkeep(r.Amounts, r.hold(), s.stamp)
	s.countKept(r.application, -1)
	s.changes.freeLimits(r.application)
	r.wait.nomination = nil
	members{&s.ledger}.mayJoin(r)
	n.nominated = without(n.nominated, r)
	n.details.change().nominatedAmounts.Sub(r.Amounts)
	s.nodeChanged(n, 0)
	s.changes.application(r.application, 0)
	why.Allocation, why.Node = r.Allocation, n.id
	s.tell(&why)
	return n
}

// withdrawn gives up the room that a node keeps for an ask, if one does, since the ask
// waits no more.
func (s *nominations) withdrawn(r *request) {
	if r.nominated() != nil {
		s.free(r, s.remove(r, NominationEnded{Reason: "it waits no more"}))
	}
}

// clear ends the nomination of an ask that waits on.
func (s *nominations) clear(r *request, why string, loss Loss) {
	n := s.remove(r, NominationEnded{Reason: why, Waits: true, Loss: loss})
	r.wait.reason, r.wait.detail = NoNodeFits, ""
	s.counts.Cleared++
	s.reclassify(r)
	s.free(r, n)
}

// clearOn clears all nominations to a node that takes nothing new.
func (s *nominations) clearOn(n *node, why string) {
	for _, r := range slices.Clone(n.nominated) {
		s.clear(r, why, LossOfRoom)
	}
}

// clearDisplaced ends the nominations to a node whose room or quota was taken. They are not
// left until their node is tried: less important asks would be tried before those that lost
// their room.
func (s *nominations) clearDisplaced(n *node) { s.keepInTurn(n, slices.Clone(n.nominated)) }

// clearDisplacedBy does so when an ask was placed there. What was kept from that ask it did not
// take, so the room is lost first for those whose room was not kept from it.
func (s *nominations) clearDisplacedBy(placed claimant, n *node) {
	list := make([]*request, 0, len(n.nominated))
	for _, kept := range [2]bool{true, false} {
		for _, r := range n.nominated {
			if r.hold().keeps(placed) == kept {
				list = append(list, r)
			}
		}
	}
	s.keepInTurn(n, list)
}

// keepInTurn keeps what is free on a node, or about to be, for one of those nominated to it after
// the other, and ends the nominations of those that find too little.
func (s *nominations) keepInTurn(n *node, list []*request) {
	s.unkept = append(s.unkept[:0], n.free...)
	for _, r := range list {
		free := s.unkept
		if claims := n.claimsBefore(r); len(claims) > 0 {
			free = free.Minus(claims)
		}
		if !r.Amounts.FitsInSum(free, n.releasing.Amounts) {
			s.clear(r, n.whyLost(), LossOfRoom)
			continue
		}
		if r.lostQuota() {
			s.clear(r, r.whyNoQuota(), LossOfQuota)
			continue
		}
		s.unkept.Sub(r.Amounts)
	}
}

// clearOutbid ends the nominations of asks whose quota another one has now, or gets, which
// comes before them, and the promises of quota before these. What is kept is kept again for one
// after the other, in their order.
func (s *nominations) clearOutbid(by *request) {
	if !by.application.isOverbooked() {
		return
	}
	s.promises.endOutbid(by)
	if len(s.list) == 0 || !by.application.isOverbooked() {
		return
	}
	list := slices.DeleteFunc(slices.Clone(s.list), func(r *request) bool { return r == by })
	slices.SortFunc(list, byNomination)
	s.stamp++
	for _, r := range list {
		r.application.unkeep(r.Amounts, r.hold(), s.stamp)
	}
	for _, r := range list {
		r.application.keep(r.Amounts, r.hold(), s.stamp)
		if r.quotaToFree() != nil || r.heldBack() != nil {
			s.clear(r, r.whyNoQuota(), LossOfQuota)
		}
	}
}

// lostQuota reports whether a nominated ask does not get its quota, or its limits hold it
// back.
func (r *request) lostQuota() bool {
	return r.heldBack() != nil || r.withoutRoom() != nil && r.quotaToFree() != nil
}

// whyNoQuota says why a nominated ask does not get its quota.
func (r *request) whyNoQuota() string {
	if held := r.heldBack(); held != nil {
		return fmt.Sprintf("the limit of %s is taken", held.subject)
	}
	return fmt.Sprintf("the quota of queue %s is taken", r.withoutRoom().path)
}

// whyLost says why a nominated ask does not get its room.
func (n *node) whyLost() string {
	if count, _ := n.overdue(); count > 0 {
		return "an eviction is overdue"
	}
	return "its room is taken"
}

// free records that what was kept for an ask is of use to others.
func (s *nominations) free(r *request, n *node) {
	s.changes.node(n, nodeFreed|nodeRetry)
	s.changes.application(r.application, quotaFreed)
}

// rerank brings a nomination up to date after the priority of the ask, as the root sees
// it, has changed.
func (s *nominations) rerank(r *request, was Standing) {
	held := r.nominated()
	if held == nil {
		return
	}
	s.rehold(r, held.hold(was))
	s.nodeChanged(held.node, nodeRetry)
}

// recheckQuota has nominated asks looked at again whose quota is not freed any more.
func (s *nominations) recheckQuota() {
	for _, r := range s.list {
		if r.lostQuota() {
			s.changes.node(r.nominated().node, nodeRetry)
		}
	}
}

// readyNode is the node that a nominated ask is nominated to, if the room is there.
func (r *request) readyNode() *node {
	held := r.nominated()
	if !held.node.openTo(r.class.standing) ||
		!r.Amounts.FitsInSum(held.node.roomFor(r.class.standing), r.Amounts) {
		return nil
	}
	return held.node
}

// byNomination compares nominated asks by the standing with which they hold room,
// then by their order.
func byNomination(a, b *request) int {
	return cmp.Or(a.nominationStanding().inOrder(a.Priority, b.nominationStanding(), b.Priority), inOrder(a, b))
}
