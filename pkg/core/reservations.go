package core

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// reservations keep nodes for asks. For an ordinary ask that has not fitted on any for
// ReserveDelay it is the node that comes closest; for an ask with a required node it
// is that node.
type reservations struct {
	*backlog
	predicates *predicates
	counts     *Preempted
	list       []*request // that nodes are kept for which they do not require
}

// recheckLimits has asks looked at again for which nodes are kept and that limits hold back now.
func (s *reservations) recheckLimits() {
	if !s.limited() {
		return
	}
	for _, r := range s.list {
		if r.heldBack() != nil {
			s.changes.node(s.findNode(r.reservation().Node), nodeRetry)
		}
	}
}

// setTimer has an ask looked at when the first of its times has come.
func (b *backlog) setTimer(r *request) {
	w := r.waiting()
	first := w.due.first()
	if first.IsZero() {
		b.timers.Cancel(&w.timer)
		return
	}
	b.timers.Set(&w.timer, first, due{what: dueAsk, request: r})
}

// claim reserves a node for an ask that may run on no other. Ordinary
// reservations there give way.
func (s *reservations) claim(r *request, n *node) {
	if r.reservation() != nil {
		return
	}
	if n.reserved != nil {
		s.counts.Reservations++
		s.unreserve(n.reserved)
	}
	s.reserve(r, n)
}

// reserve closes a node for all asks but one.
func (s *reservations) reserve(r *request, n *node) {
	required := r.Required != ""
	w := r.waiting()
	w.reservation = &Reservation{Node: n.id, Key: r.Key, At: s.now, Required: required}
	if required {
		w.reservation.At = w.since
		n.claimsHeld++
	} else {
		n.reserved = r
		if !startsWhole(r) { // a gang reserves several nodes
			r.class.reserved = r
		}
		s.list = append(s.list, r)
		s.reserved++
		s.reserves.add(r.class.standing.Root)
		w.due.reserve = s.now.Add(s.options.ReserveMax)
		s.setTimer(r)
	}
	n.view = nil
	s.changes.node(n, 0)
	s.changes.application(r.application, 0)
	s.tell(&Reserved{r.Allocation, n.id})
}

// unreserve opens the node that an ask holds, if it holds one.
func (s *reservations) unreserve(r *request) { s.end(r, LossOfRoom) }

// end does so, and tells why.
func (s *reservations) end(r *request, loss Loss) {
	held := r.reservation()
	if held == nil {
		return
	}
	w := r.wait
	w.reservation = nil
	members{&s.ledger}.mayJoin(r)
	n := s.findNode(held.Node)
	if held.Required {
		n.claimsHeld--
	} else {
		n.reserved = nil
		if r.class.reserved == r {
			r.class.reserved, r.class.since = nil, s.now
		}
		s.list = without(s.list, r)
		s.reserved--
		s.reserves.remove(r.class.standing.Root)
		s.openClass(r.class)
		w.due.reserve = time.Time{}
		s.setTimer(r)
	}
	n.view = nil
	s.changes.node(n, nodeFreed|nodeRetry)
	s.changes.application(r.application, 0)
	s.tell(&Unreserved{r.Allocation, n.id, loss})
}

// reserveLater lets an ask of a class reserve a node after ReserveDelay if the class
// fits on none until then. One reservation for each class is enough: when its ask is
// placed, the next ask gets one.
func (s *reservations) reserveLater(r *request) {
	c := r.class
	r.waiting().reason = NoNodeFits
	s.changes.application(r.application, 0)
	if s.options.ReserveDelay < 0 || c.reserved != nil || c.nominated {
		return
	}
	if c.since.IsZero() {
		c.since = s.now
	}
	s.timers.Set(&c.timer, later(c.since.Add(s.options.ReserveDelay), s.now), due{what: dueReservation, class: c})
}

// restartDelay begins ReserveDelay anew for a closed class of which an ask was placed all
// the same.
func (s *reservations) restartDelay(c *class) {
	if s.options.ReserveDelay < 0 || c.reserved != nil || c.nominated {
		return
	}
	c.since = s.now
	s.timers.Set(&c.timer, s.now.Add(s.options.ReserveDelay), due{what: dueReservation, class: c})
}

// wakeClass reserves a node for the oldest ask of a class that has fitted on none for
// ReserveDelay.
func (s *reservations) wakeClass(c *class) {
	if !c.closed || c.reserved != nil || c.nominated || c.isRefused() {
		return
	}
	r := c.firstAsk(inOrder)
	if r == nil || startsWhole(r) || startsTogether(r) { // for gangs see keepRoom; quorums hold nothing before
		return
	}
	if wait := s.predicates.wait(FurtherQuestion); wait > 0 {
		s.timers.Set(&c.timer, s.now.Add(wait), due{what: dueReservation, class: c})
		return
	}
	s.reserveBest(r)
}

// wake ends a reservation that has lasted for ReserveMax.
func (s *reservations) wake(r *request) {
	if w := r.wait; isDue(w.due.reserve, s.now) {
		w.due.reserve = time.Time{}
		s.unreserve(r)
	}
}

// reserveBest reserves the node that comes closest to having room: the one where
// the largest missing share of the ask is smallest, of those where no room is made
// for other asks. At most one node in ten is ever reserved by ordinary asks.
func (s *reservations) reserveBest(r *request) {
	if s.reserved >= max(1, s.nodes.Len()/10) || r.withoutRoom() != nil || r.heldBack() != nil {
		return
	}
	type option struct {
		node    *node
		missing resources.Share
	}
	var options []option
	for n := range s.allNodes {
		if n.open() && len(n.nominated) == 0 && r.Amounts.FitsIn(n.capacity) {
			options = append(options, option{n, missingShare(r.Amounts, n.free)})
		}
	}
	slices.SortFunc(options, func(a, b option) int {
		if c := a.missing.Compare(b.missing); c != 0 {
			return c
		}
		return strings.Compare(string(a.node.id), string(b.node.id))
	})
	tries := 0
	for _, o := range options {
		if r.class.refusedKept.has(o.node.slot, o.node.changedAt) {
			continue
		}
		if tries++; tries > reserveTriesMax {
			s.timers.Set(&r.class.timer, s.now.Add(s.options.RetryDelay), due{what: dueReservation, class: r.class})
			return
		}
		if s.mayReserve(r, o.node) {
			s.reserve(r, o.node)
			return
		}
	}
}

// mayReserve asks whether an ask may run on a node once what runs there has ended. A resource
// manager that counts amounts itself refuses every full node as it is. What it refuses, also
// to an attempt, is not asked again before the node changes.
func (s *reservations) mayReserve(r *request, n *node) bool {
	result, err := s.predicates.check(r, n, false)
	if result == waits && s.options.Simulate != nil && !isUnresolvable(err) && !r.class.simulations.isRefusedEmpty(n) {
		if all := n.ownKeys(func(*request) bool { return true }); len(all) > 0 {
			if err = s.predicates.simulate(r, n, keysOf(all)); err == nil {
				return true
			}
		}
	}
	if err != nil {
		s.separate(r)
		s.predicates.noteUnresolvable(r, n, err)
		c := r.class
		if c.refusedKept.isEmpty() {
			c.refusedKept.since = s.predicates.changed
		}
		c.refusedKept.add(n.slot, n.changedAt, s.predicates.changed)
	}
	return result == placed
}

// reserveTriesMax bounds how many nodes the resource manager is asked about for
// one reservation at a time. The next ones follow after RetryDelay.
const reserveTriesMax = 16

// missingShare is the largest part of what is asked for that is not free.
func missingShare(ask, free resources.Amounts) resources.Share {
	var most resources.Share
	for i, short := range ask.Shortfall(free) {
		if short <= 0 {
			continue
		}
		share := resources.Share{Part: short, Whole: ask[i]}
		if share.Compare(most) > 0 {
			most = share
		}
	}
	return most
}
