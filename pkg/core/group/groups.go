package group

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemption"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// Groups are the groups of asks that start together, of which none is tried before there are enough,
// and the gangs, of which asks take the places of placeholders. They belong to one goroutine.
type Groups struct {
	*backlog.Backlog
	Order      *backlog.NodeOrder
	Predicates *question.Predicates
	Refused    *question.Refused
	Kept       *preemption.Claims
	Evictions  *preemption.Evictions
	Attempts   *preemption.Attempts
	Hints      *preemption.Hints

	waiting []*ledger.Group     // that did not fit
	broken  []*ledger.Group     // that are below their minimum, and end
	unfit   []*ledger.TaskGroup // of which an ask took the place of no placeholder
	timer   timers.Timer
	woken   time.Time // when they were tried again last
	all     time.Time // when all groups are, whatever has changed; zero is not at all
	tries   int       // of groups, in this batch

	known     tables.Table[*ledger.Group, waitingGroup]
	replacing map[*ledger.TaskGroup]*searches

	larger tables.Table[*ledger.Request, bool] // it is larger than the placeholders of its task group, and waits for none

	ready []*ledger.TaskGroup // in which a placeholder may be replaced
	looks int                 // at placeholders for asks, in this batch
}

// A waitingGroup is what is known of a group that does not run, or did not.
//
//	open  => nothing is missing, or as many asks are there, which may start; else they are held back, and none stands
//	         in an order but one that has a claim of its own
//	waits => it is not open
//	until => room is kept for it, and for no other group
type waitingGroup struct {
	runs   bool       // nothing is missing
	open   bool       // its asks are not held back
	waits  bool       // they were tried together and did not fit
	hinted bool       // the resource manager was told so
	detail string     // why they are held back; empty while too few are there
	needs  []need     // what it lacked, where that was room only
	quota  *quotaNeed // what it lacked, where that was quota
	tried  uint64     // how many nodes were freed when it was tried last

	attempts guard.Guard // between attempts to make room that fail, until something of the group changes

	require string // the level of which it requires a domain, as was looked at last
	divided bool   // subgroups did
	changes uint64 // of what they require

	started bool      // it ran once, and something of it does or is done ever since
	below   time.Time // since then it has started and does not run; zero if it does
	has     int       // members that ran or were done when it was below last
	must    int       // and how many had to

	since time.Time // when they did not fit first, or had their turn to keep room last
	until time.Time // when their turn is over; zero if it is the turn of others

	hadTurn bool // since it started, or ran again

	lost []lostMember // that ended since it was looked at last
}

// at is what is known of a group that has members.
func (s *Groups) at(g *ledger.Group) *waitingGroup { return s.known.Of(g.Slot, g) }

// Join has an ask wait with its group. A new one may be what the others lacked, unless all of them must start.
func (s *Groups) Join(r *ledger.Request) {
	g := r.StartsWith
	if !g.Join(&s.Ledger, r) {
		return
	}
	at := s.at(g)
	if !at.open && (s.GroupOf(r) == nil || !r.KeepsRoom()) { // one with a claim of its own stays in its order
		s.hold(r)
	}
	at.waits, at.hinted, at.attempts = at.waits && g.IsGang(), false, guard.Guard{}
}

// claimsOf is how many asks have claims with a group.
func (s *Groups) claimsOf(g *ledger.Group) (count int) {
	for r := range g.Asks.All {
		if c := r.Claim(); c != nil && c.Whole {
			count++
		}
	}
	return count
}

// BeginBatch counts from zero what one batch may try.
func (s *Groups) BeginBatch() { s.tries = 0 }

// MayReplace reports whether there may be asks that take the places of placeholders.
func (s *Groups) MayReplace() bool { return len(s.ready) > 0 }

// groupRoomDelay is how long a group does not fit before room is kept for it, unless it has started once.
const groupRoomDelay = time.Minute

// comesFirst reports whether a group comes before those of its importance that have not started: the rest of it runs in vain. It does so once.
func (w *waitingGroup) comesFirst() bool { return w.started && !w.hadTurn }

// turn is from when on room may be kept for a group that does not fit.
func (w *waitingGroup) turn() time.Time {
	if w.comesFirst() {
		return w.since
	}
	return w.since.Add(groupRoomDelay)
}

// TriesMax is how many groups are tried in one batch.
const TriesMax = 16

// React settles which asks wait for placeholders, and which for other members of their groups.
func (s *Groups) React() {
	s.reactToTaskGroups()
	s.reactToGroups()
}

// reactToGroups settles which asks are held back.
func (s *Groups) reactToGroups() {
	for g := range s.Changes.TakeGroups {
		if !g.IsGone() {
			s.at(g).needs, s.at(g).quota = nil, nil
			s.settleMembers(g)
			s.settleState(g)
		}
	}
}

// settleMembers has the asks of a group tried once there are enough of them, or enough run. While it
// waits for a change that may help, they stay held back.
func (s *Groups) settleMembers(g *ledger.Group) {
	missing, at := g.Missing(), s.at(g)
	if missing <= 0 || g.Asks.Len() < missing { // it needs no room, or could not use it
		if s.awaitsRoom(g) {
			s.dropRoomMade(g, "its group needs no room or could not use it")
		}
		if s.Holder == g {
			s.dropGroupRoom()
		}
	}
	if at.takeLevels(g) {
		at.waits = false
		s.changeRequired(g)
	}
	if runs := missing <= 0; runs != at.runs {
		at.runs = runs
		for r := range g.Asks.All {
			s.Reclassify(r)
		}
	}
	switch opens := at.opens(g); {
	case !opens && at.open:
		s.holdGroup(g, tooFew(g))
	case opens && !at.open:
		at.open, at.waits = true, false
		for r := range g.Asks.All {
			s.OrderAgain(r)
		}
		for _, r := range g.Lost {
			s.Changes.Node(r.Claim().Node, ledger.NodeRetry)
		}
	}
}

// takeLevels takes what a group and its subgroups require, and reports whether that is new.
func (w *waitingGroup) takeLevels(g *ledger.Group) bool {
	require, divided, changes := w.require, w.divided, w.changes
	w.require, w.divided, w.changes = g.Requires(), g.IsDivided(), g.LevelChanges()
	return w.require != require || w.divided != divided || w.changes != changes
}

// FirstOf is the ask with which a group is tried; nil if it waits for more of them, or for a change.
func (s *Groups) FirstOf(g *ledger.Group) *ledger.Request {
	for r := range g.Asks.All {
		if s.GroupOf(r) != nil {
			return r
		}
	}
	return nil
}

// opens reports whether the asks of a group may be tried: enough are there, or run, and it does not wait for a change.
func (w *waitingGroup) opens(g *ledger.Group) bool {
	missing := g.Missing()
	return missing <= 0 && !g.IsPlanned() || g.Asks.Len() >= missing && !w.waits
}

// changeRequired has the asks of a group tried as is now required of their nodes: what is kept for them may be elsewhere.
func (s *Groups) changeRequired(g *ledger.Group) {
	if s.Holder == g {
		s.dropGroupRoom()
	}
	for r := range g.Asks.All {
		if c := r.Claim(); c != nil && g.IsConfined() {
			s.Kept.End(r, "its group requires a domain", api.EndOfRoom)
		}
		s.Reclassify(r)
	}
}

// holdGroup takes the asks of a group out of their orders.
func (s *Groups) holdGroup(g *ledger.Group, detail string) {
	at := s.at(g)
	at.open, at.detail = false, detail
	for r := range g.Asks.All {
		if r.KeepsRoom() {
			continue
		}
		if s.GroupOf(r) != nil {
			s.Extract(r)
		}
		s.hold(r)
	}
	s.tell(g)
}

// Regroup takes what new tags say of the group of a request.
func (s *Groups) Regroup(r *ledger.Request) {
	g := r.StartsWith
	if g != nil && g.Name == r.GroupName() {
		if s.Hear(g, r.Tags) || g.IsDivided() || g.BySubgroup() { // it may be in another subgroup
			s.at(g).waits, s.at(g).attempts = false, guard.Guard{}
		}
		return
	}
	if g != nil && r.RunsOn == nil {
		s.endGroupClaim(r, "it left its group")
		s.OrderAgain(r)
		g.Resign(&s.Ledger, r)
	}
	s.LeaveGroup(r)
	if s.EnterGroup(r); r.StartsWith != nil && r.RunsOn == nil {
		if s.GroupOf(r) != nil && !s.at(r.StartsWith).open && !r.KeepsRoom() {
			s.Extract(r)
		}
		s.Join(r)
	}
	if r.RunsOn == nil {
		s.Reclassify(r)
	}
}

// Hint tells the resource manager of the members of groups that fit no nodes: of all of them, as
// far as the quotas have room, since none starts alone.
func (s *Groups) Hint() {
	for _, g := range s.waiting {
		if g.IsGone() || !s.at(g).waits || len(s.at(g).needs) == 0 || s.at(g).hinted {
			continue
		}
		s.at(g).hinted = true
		for r := range g.Asks.All {
			if r.IsHeld() && !s.Hints.TellOf(r) {
				break
			}
		}
	}
}

// dropGroupRoom gives up what is kept for a group.
func (s *Groups) dropGroupRoom() {
	g := s.Holder
	if g == nil {
		return
	}
	s.KeepRoomFor(nil)
	s.at(g).until = time.Time{}
	for r := range g.Asks.All {
		s.endGroupClaim(r, "it is not the turn of its group")
	}
}

// endGroupClaim ends what an ask has claimed with its group.
func (s *Groups) endGroupClaim(r *ledger.Request, why string) {
	if c := r.Claim(); c != nil && c.Whole {
		s.Kept.End(r, why, api.EndOfRoom)
	}
}
