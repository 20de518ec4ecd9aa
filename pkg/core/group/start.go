package group

import (
	"cmp"
	"iter"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// Start finds nodes for as many asks of a group as must start together, to be placed at once, or for none:
// then they are held back until something changes, and hold nothing meanwhile but what is kept for one
// group. What fits nowhere is passed over while enough others fit. The others are tried one by one once
// the group runs; where it requires a domain, they are found here too, the one first whose turn it is. It costs a search of the nodes
// for each class of the asks, and one for each ask where the resource manager knows which nodes suit an ask best.
func (s *Groups) Start(r *ledger.Request) (iter.Seq2[*ledger.Request, *ledger.Node], question.Outcome) {
	g := r.StartsWith
	asks, count := g.Asks.All, g.Missing()
	if s.tries++; s.tries > TriesMax {
		return nil, question.Flush
	}
	s.Work.Attempts++
	if count <= 0 {
		s.tries-- // unless it comes to nothing
		asks, count = togetherWith(r), 1
	}
	plan := s.newGroupPlan(g, asks, count)
	var result question.Outcome
	s.withOwnQuota(g, func() { result = plan.find() })
	if result == question.Waits && g.Missing() <= 0 && g.Asks.Len() > 1 && !plan.strays {
		plan = s.newGroupPlan(g, g.Asks.All, 1) // one of another class may fit
		s.withOwnQuota(g, func() { result = plan.find() })
	}
	switch result {
	case question.Placed:
		if s.Holder == g {
			s.dropGroupRoom()
		}
		s.keepLostOnly(g, 0, "others take the places")
		plan.endClaimsElsewhere()
		return plan.placements, question.Placed
	case question.Flush:
		return nil, question.Flush
	case question.Waits, question.Paused, question.Busy:
	}
	if g.Missing() <= 0 {
		s.tries++
	} else if s.makeRoom(plan) == question.Flush {
		return nil, question.Flush
	}
	s.misfit(g, plan)
	return nil, question.Waits
}

// misfit has a group wait of which a plan came to nothing.
func (s *Groups) misfit(g *ledger.Group, plan *groupPlan) {
	at := s.at(g)
	at.tried = s.NodesFreed
	needs := plan.needs() // before it looks further, as if all had left
	s.holdGroup(g, plan.detail)
	if s.awaitsRoom(g) {
		s.retryGroup(g)
		return
	}
	at.quota = plan.short
	if g.Missing() > 0 && !plan.strays {
		s.keepGroupRoom(plan)
	}
	s.retryGroup(g)
	if plan.exhausted {
		needs = nil
		s.retryGroupsBy(s.Now.Add(s.Options.RetryDelay))
	}
	at.hinted = at.hinted || plan.strays // more nodes do not help
	if at.needs = needs; len(needs) > 0 && !at.hinted {
		s.MayHint()
	}
}

// Without claims, small asks could take whatever comes free for ever, and a group would never
// start. One group of a partition at a time has claims, so that no two wait for what the other
// has: the most important one, of these the one that waits longest. As many of its asks as must
// start claim their amounts on nodes, where all of them can run when all has left that may leave,
// or none does. After ReserveMax it is the turn of others. Of equal ones, a group that has started and lost members comes before
// those that have not, and at once: the rest of it runs in vain.

// keepGroupRoom keeps room for the group of a plan that came to nothing, if it is its turn.
func (s *Groups) keepGroupRoom(plan *groupPlan) {
	g, at := plan.group, s.at(plan.group)
	if at.since.IsZero() {
		at.since = s.Now
	}
	if s.Holder == g && !at.until.After(s.Now) {
		at.since, at.hadTurn = s.Now, true // others come first now
		s.dropGroupRoom()
	}
	if !s.isTurnOf(g) {
		return
	}
	wanted := plan.found
	if plan.over > len(plan.asks)-plan.count || plan.findWhenLeft() != question.Placed && !plan.exhausted {
		wanted = nil // there is not enough quota or room for all of them
	}
	if (s.Holder == g) == (len(wanted) == 0) {
		s.dropGroupRoom()
	}
	if len(wanted) == 0 {
		return
	}
	s.keepLostOnly(g, 0, "those that take the places have claims of their own")
	if s.Holder == nil {
		s.KeepRoomFor(g)
		at.until = s.Now.Add(s.Options.ReserveMax)
	}
	for r := range g.Asks.All {
		if held := r.Claim(); held != nil && held.Node != wanted[r] {
			s.endGroupClaim(r, "its group has other nodes")
		}
	}
	for r := range g.Asks.All {
		if n := wanted[r]; n != nil {
			s.Kept.Reserve(r, n)
		}
	}
}

// isTurnOf reports whether room may be kept for a group now.
func (s *Groups) isTurnOf(g *ledger.Group) bool {
	holder := s.Holder
	switch {
	case s.Options.ReserveDelay < 0:
		return false
	case holder == g:
		return true
	case s.at(g).turn().After(s.Now):
		return false
	}
	return holder == nil || cmp.Or(
		cmp.Compare(holder.Importance(), g.Importance()),
		compareTrue(s.at(g).comesFirst(), s.at(holder).comesFirst()),
		s.at(g).since.Compare(s.at(holder).since),
		strings.Compare(g.Name, holder.Name),
	) < 0
}
