package group

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemption"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
)

// A group for which there is no room makes room for as many asks as must start, and for no others: where it costs
// least, if all of them fit there within their quotas. They get claims, as single asks do, and start together when all of
// them fit, there or anywhere. While these claims last nothing more is evicted for the group. If one of them ends, all
// do, and room is made anew.

// makeRoom has room made for the group of a plan that came to nothing, or waits for the room that is
// made. It is flush if that is to be tried in the next batch.
func (s *Groups) makeRoom(plan *groupPlan) question.Outcome {
	g := plan.group
	pause := &s.at(g).attempts
	switch {
	case !s.awaitsRoom(g):
	case s.claimsOf(g) < plan.count || !plan.claimsAreWithin():
		s.dropRoomMade(g, "another of its group has lost its room")
		plan.beginAnew()
	case plan.isRefusedRoom():
		s.dropRoomMade(g, "it may not run where room is: "+plan.detail)
		plan.beginAnew()
		pause.PauseUntil(s.Now.Add(min(pause.Next(s.Options.RetryDelay), s.Options.RetryMax)), "; nothing more is evicted for it now")
		s.retryGroupsBy(pause.Until)
	default:
		plan.detail = roomIsMade
		return question.Waits
	}
	if plan.strays || !s.mayEvict(g) {
		return question.Waits
	}
	if pause.Until.After(s.Now) {
		plan.detail += pause.Why
		return question.Waits
	}
	asks := plan.toStart()
	if len(asks) < plan.count || s.loops(asks) {
		return question.Waits
	}
	room, again, result := plan.roomFor(asks, pause.Times)
	switch {
	case result == question.Flush:
		return question.Flush
	case room == nil && !again.IsZero():
		pause.PauseUntil(again, "")
		s.retryGroupsBy(again)
		return question.Waits
	case room == nil:
		pause.PauseUntil(s.Now.Add(min(pause.Next(s.Options.RetryDelay), s.Options.RetryMax)), plan.whyNoRoom(asks, result))
		if result == question.Busy {
			s.retryGroupsBy(pause.Until)
		}
		plan.detail += pause.Why
		return question.Waits
	}
	s.at(g).attempts = guard.Guard{}
	if s.Holder == g {
		s.dropGroupRoom()
	}
	s.Attempts.MakeGroupRoom(room)
	plan.detail = roomIsMade + ": " + room.String()
	return question.Waits
}

// roomFor finds room for asks of the group: once more with what has the most nodes to choose from first, if they are of several classes, and then
// with subgroups divided, if they may be.
func (g *groupPlan) roomFor(asks []*ledger.Request, failed int) (room *preemption.GroupRoom, again time.Time, result question.Outcome) {
	try := func() bool {
		room, again, result = g.Attempts.RoomForGroup(asks, g.setsIn(asks), failed)
		return room != nil || result != question.Waits || !again.IsZero()
	}
	g.splits = false
	if try() {
		return room, again, result
	}
	if g.areMixed(asks) {
		if slices.Reverse(asks); try() {
			return room, again, result
		}
	}
	if g.isDivided() && g.group.Terms.Split {
		g.splits = true
		try()
	}
	return room, again, result
}

// A share is asks that may get room on some nodes, as those of one domain.
type share struct {
	asks  []*ledger.Request
	nodes iter.Seq[*ledger.Node]
}

// setsIn visits the ways to give some asks nodes: of one of the domains in which they may run, of all where none is required, or, if they are of
// subgroups that require some, of one for each.
func (g *groupPlan) setsIn(asks []*ledger.Request) iter.Seq[iter.Seq2[[]*ledger.Request, iter.Seq[*ledger.Node]]] {
	return func(yield func(iter.Seq2[[]*ledger.Request, iter.Seq[*ledger.Node]]) bool) {
		yieldSet := func(shares ...share) bool {
			return yield(func(yield func([]*ledger.Request, iter.Seq[*ledger.Node]) bool) {
				for _, of := range shares {
					if !yield(of.asks, of.nodes) {
						return
					}
				}
			})
		}
		switch {
		case g.isDivided() && !g.splits:
			g.divisions(asks, yieldSet)
			return
		case g.level == nil:
			yieldSet(share{asks, g.AllNodes})
			return
		}
		for _, d := range g.byFit() {
			if !yieldSet(share{asks, d.AllNodes}) {
				return
			}
		}
	}
}

// roomButFor is why no room is made where amounts and priorities would allow it.
const roomButFor = "; evictions%s would make room, but for guarantees, budgets, units or refusals"

// whyNoRoom says why no room can be made for some asks, as far as amounts and priorities tell.
func (g *groupPlan) whyNoRoom(asks []*ledger.Request, result question.Outcome) string {
	var domains []fit
	divides := g.isDivided() && !g.splits
	if g.level != nil && !divides {
		domains = g.byFit()
	}
	switch {
	case result == question.Busy:
		return "; there is more to look at for evictions than one attempt may: the next one looks at more"
	case g.Preemption.Priority == api.PriorityOff, g.level != nil && !divides && len(domains) == 0:
		return ""
	case divides:
		for range g.setsIn(asks) { // there is one only if it has room for all
			return fmt.Sprintf(roomButFor, "")
		}
		return "; no evictions make room for each of its subgroups"
	}
	in, rest := "", ""
	set, most, above := g.Attempts.NearestRoom(asks, g.setsIn(asks))
	if g.level != nil {
		in = " in " + domains[set].Name
	}
	switch {
	case most == len(asks):
		return fmt.Sprintf(roomButFor, in)
	case above < math.MaxInt32:
		rest = fmt.Sprintf(", where the rest has a priority of %d or more", above)
	}
	return fmt.Sprintf("; evictions make room for %d of %d at most%s%s", most, len(asks), in, rest)
}

// claimsAreWithin reports whether the claims of the group are in the domain that it requires, and those of each subgroup in one: the labels
// of a node may change.
func (g *groupPlan) claimsAreWithin() bool {
	at := map[string]*topology.Domain{} // of the group, and by part
	agrees := func(name string, level *topology.Level, n *ledger.Node) bool {
		d := level.Of(n)
		if at[name] == nil {
			at[name] = d
		}
		return d != nil && d == at[name]
	}
	for r := range g.group.Keeping {
		c := r.Claim()
		if !c.Whole {
			continue
		}
		if g.level != nil && !agrees("", g.level, c.Node) {
			return false
		}
		for name := range r.Parts {
			if level := g.levels[name]; level != nil && !g.group.Terms.Split && !agrees(name, level, c.Node) {
				return false
			}
		}
	}
	for r := range g.group.Running {
		if g.level != nil && !agrees("", g.level, r.RunsOn) {
			return false
		}
		for name := range r.Parts {
			if level := g.levels[name]; at[name] != nil && !agrees(name, level, r.RunsOn) {
				return false
			}
		}
	}
	return true
}

// NodeUpdated ends what is kept for groups if a node has left the domain in which they must start, or has come to another one.
func (s *Groups) NodeUpdated(n *ledger.Node) {
	if len(s.Claims) == 0 {
		return
	}
	var last *ledger.Group
	for _, r := range slices.Concat(n.Own, n.Claims) {
		g := r.StartsWith
		if g == nil || g == last || !g.IsConfined() {
			continue
		}
		if last = g; !s.confined(g).claimsAreWithin() {
			if s.Holder == g {
				s.dropGroupRoom()
			}
			s.dropRoomMade(g, "a node has left its domain")
			s.keepLostOnly(g, 0, "a node has left its domain")
		}
	}
}

// beginAnew has a plan begin anew that came to nothing: asks have lost their claims.
func (g *groupPlan) beginAnew() {
	detail := g.detail
	*g = *g.newGroupPlan(g.group, g.group.Asks.All, g.count)
	g.detail = detail
}

// isRefusedRoom reports whether the resource manager refuses members although all have the room that was made for them.
func (g *groupPlan) isRefusedRoom() bool {
	if !g.refused || g.exhausted || g.over > 0 {
		return false
	}
	for r := range g.group.Asks.All {
		if r.EvictsWhole() && r.ReadyNode() == nil {
			return false
		}
	}
	return true
}

// roomIsMade is why asks wait while room is made for their group.
const roomIsMade = "room is made for all that must start"

// awaitsRoom reports whether asks of a group have claims for which evictions are on their way, or were.
func (s *Groups) awaitsRoom(g *ledger.Group) bool {
	if len(s.QuotaClaims) == 0 {
		return false
	}
	for r := range g.Asks.All {
		if r.EvictsWhole() {
			return true
		}
	}
	return false
}

// isDue reports whether another attempt to make room for a group may be made; later, if it is too early.
func (s *Groups) isDue(g *ledger.Group) bool {
	if !s.mayEvict(g) {
		return false
	}
	until := s.at(g).attempts.Until
	if until.After(s.Now) {
		s.retryGroupsBy(until)
		return false
	}
	return true
}

// mayEvict reports whether anything may be evicted for a group.
func (s *Groups) mayEvict(g *ledger.Group) bool {
	if !s.Settled || s.Preemption.Disabled || g.IsGang() {
		return false
	}
	for r := range g.Asks.All {
		if s.WantsRoom(r) {
			return s.Attempts.MayTakeRoom(r)
		}
	}
	return false
}

// toStart are the asks that start first, as far as their quotas have room for them together: as many as must, and of subgroups that start
// whole all.
func (g *groupPlan) toStart() (asks []*ledger.Request) {
	g.uses, g.planned = map[*ledger.Application]*plannedUses{}, map[*ledger.Account]*plannedUse{}
	if len(g.asks) > g.count { // the least ends for those for which it is easiest to find nodes
		slices.SortStableFunc(g.asks, g.easiestFirst(nil))
	}
	list := []*subgroup{{asks: g.asks}}
	switch {
	case g.group.BySubgroup(): // the smallest, of which the fewest asks need room
		list = g.subgroups()
		slices.SortStableFunc(list, func(a, b *subgroup) int {
			return cmp.Or(compareTrue(a.hasRoom(), b.hasRoom()), cmp.Compare(len(a.asks), len(b.asks)))
		})
	case g.isDivided():
		list = g.subgroups()
	}
	for _, of := range list {
		before := len(asks)
		for _, r := range of.asks {
			if (len(asks) < g.count || of.whole && before < g.count) && of.why == "" && g.WantsRoom(r) && g.hasQuota(r) {
				g.charge(r)
				asks = append(asks, r)
			}
		}
		if of.whole && len(asks)-before < len(of.asks) {
			for _, r := range asks[before:] {
				g.credit(r)
			}
			asks = asks[:before]
		}
	}
	return asks
}

// loops reports whether room was made so often for the application of any ask that it is taken for a loop.
func (s *Groups) loops(asks []*ledger.Request) bool {
	var last *ledger.Application
	for _, r := range asks {
		if r.App != last && s.Attempts.Loops(r) {
			return true
		}
		last = r.App
	}
	return false
}

// withOwnQuota does something as if no quota was kept for the asks of a group, and of members that it has lost.
func (s *Groups) withOwnQuota(g *ledger.Group, do func()) {
	var kept []*ledger.Request
	for r := range g.Keeping {
		if c := r.Claim(); c.Whole && r.KeepsQuota() {
			kept = append(kept, r)
			s.Unkeep(r)
		}
	}
	do()
	for _, r := range kept {
		s.Keep(r)
	}
}

// endClaimsElsewhere ends the claims of the group on nodes where their asks do not start.
func (g *groupPlan) endClaimsElsewhere() {
	if !g.awaitsRoom(g.group) {
		return
	}
	for r := range g.group.Asks.All {
		if held := r.Claim(); held != nil && g.found[r] != held.Node {
			g.endGroupClaim(r, "its group starts elsewhere")
		}
	}
}

// dropRoomMade ends the claims of a group for which anything was evicted.
func (s *Groups) dropRoomMade(g *ledger.Group, why string) {
	for r := range g.Asks.All {
		if r.EvictsWhole() {
			s.Kept.Clear(r, why, api.EndOfRoom)
		}
	}
}
