package group

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// A group that has started and loses a member is below its minimum until another one takes its place, which the resource manager has to
// make first. Meanwhile what the member had on its node is kept for that one, from asks that are not more important: others would take it
// there, or its quota, and the rest of the group would run in vain. Whatever ends a claim for which nothing is evicted ends this one too.

// lostMax is for how long after a group has come below its minimum room is kept for those that take the places of members.
const lostMax = time.Minute

// A lostMember is one that has ended, and where.
type lostMember struct {
	*ledger.Request
	on *ledger.Node
}

// Lose hears that a member of a group has ended on a node, not for others and without success.
func (s *Groups) Lose(r *ledger.Request, g *ledger.Group, on *ledger.Node) {
	if g != nil && !g.IsGang() && !g.IsGone() && s.Options.ReserveDelay >= 0 {
		s.at(g).lost = append(s.at(g).lost, lostMember{r, on})
	}
}

// lostUntil is until when room is kept for those that take the places of members of a group; nothing is if it is not below its minimum.
func (w *waitingGroup) lostUntil() time.Time {
	if w.below.IsZero() {
		return time.Time{}
	}
	return w.below.Add(lostMax)
}

// keepLost keeps the room of members that a group has lost, of as many as it lacks.
func (s *Groups) keepLost(g *ledger.Group) {
	at := s.at(g)
	ended, lacks := at.lost, 0
	if at.lost = nil; at.lostUntil().After(s.Now) {
		lacks = g.Missing()
	}
	for _, r := range ended {
		if n := r.on; len(g.Lost) < lacks && !r.App.Gone && n.Schedulable && r.Amounts.FitsIn(n.Room) {
			s.KeepLost(g, r.Allocation, r.App, n, s.Now)
		}
	}
	s.keepLostOnly(g, lacks, "its group lacks none any more")
	if len(g.Lost) > 0 && g.IsConfined() && !s.confined(g).claimsAreWithin() {
		s.keepLostOnly(g, 0, "its group may not run there")
	}
	if len(g.Lost) > 0 {
		for _, r := range g.Lost {
			s.rankLost(r)
		}
		s.retryGroupsBy(at.lostUntil())
	}
}

// keepLostOnly keeps room for no more than so many that take the places of members of a group.
func (s *Groups) keepLostOnly(g *ledger.Group, most int, why string) {
	for len(g.Lost) > most {
		s.Kept.End(g.Lost[len(g.Lost)-1], why, api.EndOfRoom)
	}
}

// endLost gives up what was kept for long enough.
func (s *Groups) endLost() {
	for _, r := range slices.Clone(s.Claims) {
		if !r.Claim().Lost {
			continue
		}
		if until := s.at(r.StartsWith).lostUntil(); until.After(s.Now) {
			s.retryGroupsBy(until)
		} else {
			s.Kept.End(r, "none took its place in time", api.EndOfRoom)
		}
	}
}

// RankLost gives what is kept the importance that those have now that take the places.
func (s *Groups) RankLost() {
	for _, r := range s.Claims {
		if r.Claim().Lost {
			s.rankLost(r)
		}
	}
}

func (s *Groups) rankLost(r *ledger.Request) {
	s.Rank(r, s.Importance(&ledger.Request{Allocation: r.In(r.StartsWith.Terms), App: r.App}))
}

// RestoreLost takes what a view shows of a member that has ended.
func (s *Groups) RestoreLost(held *api.Reservation, app *ledger.Application, on *ledger.Node) {
	g := s.Together[(&ledger.Request{Allocation: held.Lost, App: app}).GroupName()]
	s.KeepLost(g, held.Lost, app, on, held.At)
	s.Changes.Group(g)
}
