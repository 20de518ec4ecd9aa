package preemption

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Claims make and end what is kept for asks. A claim has one end, told with its reason: its ask
// was placed or waits no more, a more important ask took the room or the quota, the ask cannot
// use it any more, or it has lasted for ReserveMax and it is the turn of others. What was kept is
// then offered to all asks, in their order.
type Claims struct {
	*backlog.Backlog
	Counts    *api.Preempted
	Undecided *[]*ledger.Request                  // asks for which victims are chosen now, and not told yet
	Broken    uint64                              // counts asks with a required node that gave up their quota
	slots     int                                 // claims of asks that may run anywhere for which nothing is evicted, but for those of groups
	tookEqual tables.Table[*ledger.Request, bool] // a victim that was told to end for it has its priority
	unkept    resources.Amounts                   // scratch
}

// Reserve keeps room on a node for an ask for which nothing is evicted. Others lose theirs there that
// cannot use it any more.
func (s *Claims) Reserve(r *ledger.Request, n *ledger.Node) {
	if r.Claim() == nil {
		s.Hold(r, n)
		s.Settle(n)
	}
}

// Hold is reserve alone.
func (s *Claims) Hold(r *ledger.Request, n *ledger.Node) {
	since := s.Now
	if r.Required != "" {
		since = r.Waiting().Since
	}
	s.AddClaim(r, &ledger.Claim{Node: n, Since: since, Whole: r.StartsTogether() && s.Holder == r.StartsWith, Replaces: r.Pair() != nil})
	if r.Reserved() {
		s.countSlot(r, 1)
	}
	s.reclassMember(r)
	s.Tell(&api.Claimed{Allocation: r.Allocation, Node: n.ID})
}

// reclassMember gives a member of a group the class that it has with a claim by itself, or without.
func (s *Claims) reclassMember(r *ledger.Request) {
	if r.StartsWith != nil {
		s.Reclassify(r)
	}
}

// countSlot counts the claim of an ask that may run anywhere among the slots, or not any more. Groups
// have their own turns.
func (s *Claims) countSlot(r *ledger.Request, by int) {
	ends := time.Time{}
	if by > 0 {
		ends = s.Now.Add(s.Options.ReserveMax)
	}
	s.SetMoment(r, backlog.ClaimEnds, ends)
	if r.Wait.Claim.Whole {
		return
	}
	s.slots += by
	s.CountClaim(r, by)
}

// Promise keeps the quota too of an ask with a required node: evictions are on their way for it,
// so that it has its quota when these have ended.
func (s *Claims) Promise(r *ledger.Request, n *ledger.Node) {
	if s.Reserve(r, n); r.KeepsQuota() {
		return
	}
	s.KeepQuotaToo(r)
	if r.Wait.HeldBy != nil && r.WithoutRoom() == nil { // now it does not wait for what ends for equal asks
		r.GoOn()
		s.Changes.Node(n, ledger.NodeRetry)
	}
}

// nominate keeps room and quota for an ask that may run anywhere. Nothing is evicted before.
func (s *Claims) nominate(r *ledger.Request, n *ledger.Node, plan *preemptor.Decision) {
	s.End(r, "room is made for it", api.EndOutbid)
	if plan.Trigger == preemptor.Guarantee {
		for _, other := range slices.Clone(n.Claims) {
			if other.Reserved() && other.Importance > r.Importance {
				s.Counts.Reservations++
				s.End(other, "it gives way to a guarantee", api.EndOutbid)
			}
		}
	}
	r.Waiting().Says(api.RoomIsMade, string(n.ID))
	s.AddClaim(r, &ledger.Claim{Node: n, Since: s.Now, Evicts: true, Trigger: plan.Trigger, Whole: r.StartsTogether()})
	s.Counts.Nominations++
	s.Changes.Node(n, ledger.NodeRetry)
	s.Reclassify(r)
	s.Tell(&api.Claimed{Allocation: r.Allocation, Node: n.ID, Plan: plan})
}

// Renominate does so for an ask that was nominated before a restart. It may have taken the place of
// an equal one, which must not lose it to another.
func (s *Claims) Renominate(r *ledger.Request, n *ledger.Node, plan *preemptor.Decision) {
	s.nominate(r, n, plan)
	if s.Preemption.Priority == api.EqualToo {
		s.TakesEqual(r)
	}
}

// TakesEqual notes that a victim which was told to end for an ask has its priority, and TookEqual reports it.
func (s *Claims) TakesEqual(r *ledger.Request) { *s.tookEqual.Of(r.Slot, r) = true }

// TookEqual reports whether a victim that was told to end for an ask has its priority.
func (s *Claims) TookEqual(r *ledger.Request) bool { return s.tookEqual.Get(r.Slot, r) }

// GiveUp gives up what is kept for an ask that waits no more.
func (s *Claims) GiveUp(r *ledger.Request) {
	s.End(r, "it waits no more", api.EndGone)
	s.tookEqual.Drop(r.Slot)
}

// End gives up what is kept for an ask, if anything is, and says why.
func (s *Claims) End(r *ledger.Request, why string, as api.End) {
	c := r.Claim()
	switch {
	case c == nil:
		return
	case c.Lost:
		s.DropLost(r, why)
		s.MayHelpSlots()
		return
	}
	if r.Promised() {
		s.Broken++
	}
	s.Take(r, why, as)
	s.Changes.Node(c.Node, ledger.NodeFreed|ledger.NodeRetry)
	switch {
	case c.Evicts:
		s.Changes.Application(r.App, ledger.QuotaFreed)
	case c.Replaces && as > api.EndGone:
		s.Rejoin(r)
	}
}

// Rejoin has an ask wait anew that does not get the place of its placeholder.
func (s *Claims) Rejoin(r *ledger.Request) {
	if r.Claim() != nil {
		s.End(r, "it takes the place of no placeholder", api.EndOfRoom)
		return
	}
	s.Unpair(r)
	g := r.InTaskGroup()
	g.Others.Add(r)
	s.OrderAgain(r)
	s.Changes.TaskGroup(g)
}

// Take is the same for an ask that uses what was kept: no other ask gets it.
func (s *Claims) Take(r *ledger.Request, why string, as api.End) {
	nominated := r.Nominated() != nil
	s.MayHelpSlots()
	if r.Reserved() {
		s.countSlot(r, -1)
	}
	n := s.DropClaim(r)
	s.reclassMember(r)
	s.MayJoinTaskGroup(r)
	if !nominated {
		s.Changes.Node(n, ledger.NodeFreed|ledger.NodeRetry) // it opens to attempts too
	}
	s.Tell(&api.ClaimEnded{Allocation: r.Allocation, Node: n.ID, Nominated: nominated, End: as, Reason: why})
}

// Clear ends the claim of an ask for which evictions are on their way, and which waits on.
func (s *Claims) Clear(r *ledger.Request, why string, as api.End) {
	s.End(r, why, as)
	r.Wait.Says(api.NoNodeFits, "")
	s.Counts.Cleared++
	s.Reclassify(r)
}

// ClearOn ends the claims on a node that takes nothing new, of asks that may run anywhere.
func (s *Claims) ClearOn(n *ledger.Node, why string) {
	for _, r := range slices.Clone(n.Claims) {
		switch {
		case r.Nominated() != nil:
			s.Clear(r, why, api.EndOfRoom)
		case r.Required == "":
			s.End(r, why, api.EndOfRoom)
		}
	}
}

// Settle keeps what is free on a node, or about to be, for one claim after the other, in their
// order, and ends those of asks that cannot use it any more. It does not wait until the node is
// tried: less important asks would be tried before those that lost their room.
func (s *Claims) Settle(n *ledger.Node) {
	list := slices.Clone(n.Claims)
	s.unkept = append(s.unkept[:0], n.Free...)
	for _, r := range list {
		switch {
		case r.Nominated() == nil && !r.Wait.Claim.Replaces && r.IsBeyondMax(), r.Wait.Claim.Lost && r.LostQuota():
			s.End(r, r.WhyNoQuota(), api.EndOfQuota)
			continue
		case r.Wait.Claim.Replaces, r.Wait.Claim.Lost: // it has the quota of its placeholder, or nothing that is to leave first
			if !r.Amounts.FitsIn(s.unkept) {
				s.End(r, n.WhyLost(), api.EndOfRoom)
				continue
			}
		case r.Nominated() == nil:
			if !r.Amounts.FitsIn(n.Usable(r)) {
				if r.Reserved() {
					s.Counts.Reservations++
				}
				s.End(r, "the ask cannot run there any more", api.EndOfRoom)
				continue
			}
		case !r.Amounts.FitsInSum(s.unkept, n.Releasing.Amounts):
			s.Clear(r, n.WhyLost(), api.EndOfRoom)
			continue
		case r.LostQuota():
			s.Clear(r, r.WhyNoQuota(), api.EndOfQuota)
			continue
		}
		s.unkept.Sub(r.Amounts)
	}
}

// SettleQuota ends the claims of asks whose quota another one has now, or gets, that comes before
// them.
func (s *Claims) SettleQuota(by *ledger.Request) {
	accounts := by.App.Accounts()
	s.GiveWay(by, accounts[:]...)
}

// GiveWay ends claims with quota where more is kept in some accounts, or above them, than can be. The
// last in order give way until the rest fits, but for one ask; then each of them keeps what it can beside
// those before it. Where victims are chosen and not told yet, what they free is not known here. It looks
// at those that give way only, and reports whether a claim ended.
func (s *Claims) GiveWay(but *ledger.Request, accounts ...*ledger.Account) (ended bool) {
	var last []*ledger.Request
	at := len(s.QuotaClaims)
	for {
		over, some := overbookedOf(accounts)
		for at--; some && at >= 0 && !s.mayYield(s.QuotaClaims[at], but, over); at-- {
		}
		if !some || at < 0 {
			break
		}
		r := s.QuotaClaims[at]
		s.Unkeep(r)
		last = append(last, r)
	}
	for _, r := range slices.Backward(last) {
		s.Keep(r)
		switch {
		case r.QuotaToFree() == nil && r.HeldBack() == nil:
			continue
		case r.Required != "", r.Claim().Lost:
			s.End(r, r.WhyNoQuota(), api.EndOfQuota)
		default:
			s.Clear(r, r.WhyNoQuota(), api.EndOfQuota)
		}
		ended = true
	}
	return ended
}

// mayYield reports whether the claim of an ask may end where an account is overbooked.
func (s *Claims) mayYield(r, but *ledger.Request, over overbooked) bool {
	return r != but && over.isHelpedBy(r) && !slices.Contains(*s.Undecided, r)
}

// An overbooked is an account and a kind of which more is used and kept than can be once all
// evictions have ended. For a limit nothing ends.
type overbooked struct {
	*ledger.Account
	kind resources.Kind
}

// overbookedOf finds one among some accounts and those above them.
func overbookedOf(accounts []*ledger.Account) (found overbooked, some bool) {
	for _, a := range accounts {
		for ; a != nil; a = a.Parent {
			for i := range a.Max {
				kind := resources.Kind(i)
				if a.Max[i] == resources.Unlimited || a.Nominated.Of(kind) <= 0 {
					continue
				}
				used := a.Used.Of(kind)
				if !a.Subject.Limit {
					used = resources.Total(used, -a.Releasing.Of(kind))
				}
				if resources.Total(used, a.Nominated.Of(kind)) > a.Max[i] {
					return overbooked{a, kind}, true
				}
			}
		}
	}
	return found, false
}

// isHelpedBy reports whether less is kept there when an ask has no claim.
func (o overbooked) isHelpedBy(r *ledger.Request) bool {
	if r.Amounts.Of(o.kind) <= 0 {
		return false
	}
	for _, a := range r.App.Accounts() {
		if a.IsUnder(o.Account) {
			return true
		}
	}
	return false
}

// RecheckLimits has asks looked at again that have claims and that limits hold back now, as some
// applications have more. Where nothing but claims with quota is kept, and the limits of these
// applications hold all that, it costs a look at each of them.
func (s *Claims) RecheckLimits(of ...*ledger.Application) {
	if !s.Limited() || s.Idle == 0 && !slices.ContainsFunc(of, (*ledger.Application).MayHoldBack) {
		return
	}
	for _, r := range s.Claims {
		if r.HeldBack() != nil {
			s.Changes.Node(r.Claim().Node, ledger.NodeRetry)
		}
	}
}
