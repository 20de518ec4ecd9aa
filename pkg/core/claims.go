package core

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// claims make and end what is kept for asks. A claim has one end, told with its reason: its ask
// was placed or waits no more, a more important ask took the room or the quota, the ask cannot
// use it any more, or it has lasted for ReserveMax and it is the turn of others. What was kept is
// then offered to all asks, in their order.
type claims struct {
	*backlog
	counts    *api.Preempted
	undecided *[]*request       // asks for which victims are chosen now, and not told yet
	broken    uint64            // counts asks with a required node that gave up their quota
	unkept    resources.Amounts // scratch
}

// reserve keeps room on a node for an ask for which nothing is evicted. Others lose theirs there that
// cannot use it any more.
func (s *claims) reserve(r *request, n *node) {
	if r.claim() == nil {
		s.hold(r, n)
		s.settle(n)
	}
}

// hold is reserve alone.
func (s *claims) hold(r *request, n *node) {
	c := &claim{node: n, since: s.now, whole: r.startsTogether() && s.holder == r.startsWith, replaces: r.pair() != nil}
	if r.Required != "" {
		c.since = r.waiting().since
	}
	s.addClaim(r, c)
	if r.reserved() {
		s.countSlot(r, 1)
	}
	s.tell(&api.Claimed{Allocation: r.Allocation, Node: n.id})
}

// countSlot counts the claim of an ask that may run anywhere among the slots, or not any more. Groups
// have their own turns.
func (s *claims) countSlot(r *request, by int) {
	if r.wait.due.claim = (time.Time{}); by > 0 {
		r.wait.due.claim = s.now.Add(s.options.ReserveMax)
	}
	s.setTimer(r)
	if r.wait.claim.whole {
		r.startsWith.claims += by
		return
	}
	s.slotsGiven += by
	s.classOf(r).slots.held += by
}

// promise keeps the quota too of an ask with a required node: evictions are on their way for it,
// so that it has its quota when these have ended.
func (s *claims) promise(r *request, n *node) {
	if s.reserve(r, n); r.keepsQuota() {
		return
	}
	s.keepQuotaToo(r)
	if r.wait.heldBy != nil && r.withoutRoom() == nil { // now it does not wait for what ends for equal asks
		r.wait.heldBy = nil
		s.changes.node(n, nodeRetry)
	}
}

// nominate keeps room and quota for an ask that may run anywhere. Nothing is evicted before.
func (s *claims) nominate(r *request, n *node, plan *preemptor.Decision) {
	s.end(r, "room is made for it", api.EndOutbid)
	if plan.Trigger == preemptor.Guarantee {
		for _, other := range slices.Clone(n.claims) {
			if other.reserved() && other.importance > r.importance {
				s.counts.Reservations++
				s.end(other, "it gives way to a guarantee", api.EndOutbid)
			}
		}
	}
	w := r.waiting()
	w.reason, w.detail = api.RoomIsMade, string(n.id)
	s.addClaim(r, &claim{node: n, since: s.now, evicts: true, trigger: plan.Trigger})
	s.counts.Nominations++
	s.changes.node(n, nodeRetry)
	s.reclassify(r)
	s.tell(&api.Claimed{Allocation: r.Allocation, Node: n.id, Plan: plan})
}

// renominate does so for an ask that was nominated before a restart. It may have taken the place of
// an equal one, which must not lose it to another.
func (s *claims) renominate(r *request, n *node, plan *preemptor.Decision) {
	s.nominate(r, n, plan)
	r.wait.tookEqual = s.preemption.Priority == api.EqualToo
}

// withdraw gives up what is kept for an ask that waits no more.
func (s *claims) withdraw(r *request) { s.end(r, "it waits no more", api.EndGone) }

// end gives up what is kept for an ask, if anything is, and says why.
func (s *claims) end(r *request, why string, as api.End) {
	c := r.claim()
	if c == nil {
		return
	}
	if r.promised() {
		s.broken++
	}
	s.take(r, why, as)
	s.changes.node(c.node, nodeFreed|nodeRetry)
	switch {
	case c.evicts:
		s.changes.application(r.application, quotaFreed)
	case c.replaces && as > api.EndGone:
		s.rejoin(r)
	}
}

// rejoin has an ask wait anew that does not get the place of its placeholder.
func (s *claims) rejoin(r *request) {
	if r.claim() != nil {
		s.end(r, "it takes the place of no placeholder", api.EndOfRoom)
		return
	}
	s.unpair(r)
	g := r.taskGroup()
	g.others.add(r)
	s.orderAgain(r)
	s.changes.taskGroup(g)
}

// take is the same for an ask that uses what was kept: no other ask gets it.
func (s *claims) take(r *request, why string, as api.End) {
	nominated := r.nominated() != nil
	s.slotsDue = true
	if r.reserved() {
		s.countSlot(r, -1)
	}
	n := s.dropClaim(r)
	s.mayJoinTaskGroup(r)
	if !nominated {
		s.changes.node(n, nodeFreed|nodeRetry) // it opens to attempts too
	}
	s.tell(&api.ClaimEnded{Allocation: r.Allocation, Node: n.id, Nominated: nominated, End: as, Reason: why})
}

// clear ends the claim of an ask for which evictions are on their way, and which waits on.
func (s *claims) clear(r *request, why string, as api.End) {
	s.end(r, why, as)
	r.wait.reason, r.wait.detail = api.NoNodeFits, ""
	s.counts.Cleared++
	s.reclassify(r)
}

// clearOn ends the claims on a node that takes nothing new, of asks that may run anywhere.
func (s *claims) clearOn(n *node, why string) {
	for _, r := range slices.Clone(n.claims) {
		switch {
		case r.nominated() != nil:
			s.clear(r, why, api.EndOfRoom)
		case r.Required == "":
			s.end(r, why, api.EndOfRoom)
		}
	}
}

// settle keeps what is free on a node, or about to be, for one claim after the other, in their
// order, and ends those of asks that cannot use it any more. It does not wait until the node is
// tried: less important asks would be tried before those that lost their room.
func (s *claims) settle(n *node) {
	list := slices.Clone(n.claims)
	s.unkept = append(s.unkept[:0], n.free...)
	for _, r := range list {
		switch {
		case r.wait.claim.replaces: // it has the quota of its placeholder
			if !r.Amounts.FitsIn(s.unkept) {
				s.end(r, n.whyLost(), api.EndOfRoom)
				continue
			}
		case r.nominated() == nil && r.isBeyondMax():
			s.end(r, r.whyNoQuota(), api.EndOfQuota)
			continue
		case r.nominated() == nil:
			if !r.Amounts.FitsIn(n.usable(r)) {
				if r.reserved() {
					s.counts.Reservations++
				}
				s.end(r, "the ask cannot run there any more", api.EndOfRoom)
				continue
			}
		case !r.Amounts.FitsInSum(s.unkept, n.releasing.Amounts):
			s.clear(r, n.whyLost(), api.EndOfRoom)
			continue
		case r.lostQuota():
			s.clear(r, r.whyNoQuota(), api.EndOfQuota)
			continue
		}
		s.unkept.Sub(r.Amounts)
	}
}

// settleQuota ends the claims of asks whose quota another one has now, or gets, that comes before
// them.
func (s *claims) settleQuota(by *request) {
	accounts := by.application.accounts()
	s.giveWay(by, accounts[:]...)
}

// giveWay ends claims with quota where more is kept in some accounts, or above them, than can be. The
// last in order give way until the rest fits, but for one ask; then each of them keeps what it can beside
// those before it. Where victims are chosen and not told yet, what they free is not known here. It looks
// at those that give way only, and reports whether a claim ended.
func (s *claims) giveWay(but *request, accounts ...*account) (ended bool) {
	var last []*request
	at := len(s.quotaClaims)
	for {
		over, some := overbookedOf(accounts)
		for at--; some && at >= 0 && !s.mayYield(s.quotaClaims[at], but, over); at-- {
		}
		if !some || at < 0 {
			break
		}
		r := s.quotaClaims[at]
		s.stamp++
		r.application.unkeep(r.Amounts, r.importance, s.stamp)
		last = append(last, r)
	}
	for _, r := range slices.Backward(last) {
		s.stamp++
		r.application.keep(r.Amounts, r.importance, s.stamp)
		switch {
		case r.quotaToFree() == nil && r.heldBack() == nil:
			continue
		case r.Required != "":
			s.end(r, r.whyNoQuota(), api.EndOfQuota)
		default:
			s.clear(r, r.whyNoQuota(), api.EndOfQuota)
		}
		ended = true
	}
	return ended
}

// mayYield reports whether the claim of an ask may end where an account is overbooked.
func (s *claims) mayYield(r, but *request, over overbooked) bool {
	return r != but && over.isHelpedBy(r) && !slices.Contains(*s.undecided, r)
}

// recheckLimits has asks looked at again that have claims and that limits hold back now, as some
// applications have more. Where nothing but claims with quota is kept, and the limits of these
// applications hold all that, it costs a look at each of them.
func (s *claims) recheckLimits(of ...*application) {
	if !s.limited() || s.idle == 0 && !slices.ContainsFunc(of, (*application).mayHoldBack) {
		return
	}
	for _, r := range s.claims {
		if r.heldBack() != nil {
			s.changes.node(r.claim().node, nodeRetry)
		}
	}
}
