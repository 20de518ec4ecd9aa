package group

import (
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// retryGroup has a group tried again: soon after something has changed that may help, or when the
// outside may have changed.
func (s *Groups) retryGroup(g *ledger.Group) {
	at := s.at(g)
	if at.waits = true; !slices.Contains(s.waiting, g) {
		s.waiting = append(s.waiting, g)
	}
	by := s.Now.Add(s.Options.RetryMax)
	if turn := at.turn(); turn.After(s.Now) && turn.Before(by) {
		by = turn
	}
	if s.all.IsZero() || s.all.After(by) {
		s.all = by
	}
	s.retryGroupsBy(by)
}

// WakeSoon has what waits tried again, since there may be room or quota for it: in this
// batch, or the asks behind would take it, but, unless its group runs, so that it starts alone, not more often than RetryDelay allows.
func (s *Groups) WakeSoon() {
	if len(s.waiting)+len(s.unfit) == 0 {
		return
	}
	if at := s.woken.Add(s.Options.RetryDelay); at.After(s.Now) {
		s.wakeGroups(func(g *ledger.Group) bool { return !s.at(g).runs || s.isShort(g) })
		s.retryGroupsBy(at)
		return
	}
	s.Wake()
}

// retryGroupsBy has what waits tried again at some time at the latest.
func (s *Groups) retryGroupsBy(at time.Time) {
	s.Timers.SetBy(&s.timer, at, timers.Due{What: timers.Groups})
}

// Wake has what waits tried again: all groups when it is time, else those that what came free may
// help, and the members of gangs.
func (s *Groups) Wake() {
	s.endBroken()
	s.endLost()
	all := timers.IsDue(s.all, s.Now)
	if s.woken = s.Now; all {
		s.all = time.Time{}
	}
	s.wakeGroups(func(g *ledger.Group) bool {
		if all {
			s.forgetRefusals(g)
		}
		return !all && s.isShort(g)
	})
	for _, g := range s.unfit {
		work := s.of(g)
		work.waits, work.again = false, work.again || !work.goesOn
		s.Changes.TaskGroup(g)
	}
	if clear(s.unfit); len(s.waiting) > 0 {
		s.retryGroupsBy(s.all)
	}
	s.unfit = s.unfit[:0]
}

// wakeGroups has those groups tried again that wait and for which nothing says that they go on to.
func (s *Groups) wakeGroups(waitsOn func(*ledger.Group) bool) {
	s.waiting = slices.DeleteFunc(s.waiting, func(g *ledger.Group) bool {
		switch {
		case g.IsGone():
			return true
		case waitsOn(g):
			return false
		}
		s.at(g).waits = false
		s.Changes.Group(g)
		return true
	})
}

// RetryAll has all groups tried again that wait, since what nodes are to them has changed.
func (s *Groups) RetryAll() {
	for _, g := range s.waiting {
		s.at(g).needs, s.at(g).quota = nil, nil
	}
	s.WakeSoon()
}

// AskAnew has the group of an ask tried again soon, if it waits: the resource manager may say something else of the ask.
func (s *Groups) AskAnew(r *ledger.Request) {
	if g := r.StartsWith; g != nil && s.at(g).waits {
		s.at(g).needs, s.at(g).quota = nil, nil
		s.retryGroupsBy(timers.Later(s.Now, s.woken.Add(s.Options.RetryDelay)))
	}
}

// isShort reports whether a group fits its quotas or the nodes no better than when it was tried last: there are
// not as many places as it lacks, for asks of each amounts.
func (s *Groups) isShort(g *ledger.Group) bool {
	switch {
	case s.at(g).quota.remains():
		return true
	case len(s.at(g).needs) == 0:
		return false
	case s.Holder == g && (s.claimsOf(g) < g.Missing() || g.IsConfined()), s.isDue(g):
		return false // other nodes may be kept for it, or room be made
	case g.Requires() != "":
		return s.isShortOfDomains(g)
	}
	spare := -int64(g.Missing())
	for _, need := range s.at(g).needs {
		spare += need.count
	}
	for _, need := range s.at(g).needs {
		places := s.Order.Domains.Slots(need.class.Amounts, math.MaxInt32).All() // what is kept is counted too
		if spare -= max(need.count-places, 0); spare < 0 {
			return true
		}
	}
	return false
}
