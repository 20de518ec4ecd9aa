package preemption

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/nodeset"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Slots decide which asks have claims for which nothing is evicted. Without them small asks could
// take whatever comes free for ever, and a large one would never run. At most one claim for ten
// nodes is given, to asks of classes that have fitted on no node for ReserveDelay: to the most
// important ones, then to those that fit in the fewest places. A better class takes the slot of a
// worse one. Once a claim has lasted for ReserveMax in vain, each other class has its turn, however
// important it is, before that one has another. What fits into the place of any single allocation
// needs no claim before it has waited for as long.
//
// Slots are looked at when nothing more can be placed, so that all asks were tried on what a claim
// that has ended left.
type Slots struct {
	*backlog.Backlog
	Kept       *Claims
	Predicates *question.Predicates
	Unplaced   []*backlog.Class                   // parked ones, that may want a slot
	listed     tables.Table[*backlog.Class, bool] // which are there
	classes    tables.Table[backlog.Living, slotClass]
	timer      timers.Timer
	ended      int // how many claims were ended for others
	round      int // counts claims that lasted for ReserveMax
}

// A slotClass is what slots know of a class as long as it has asks.
type slotClass struct {
	since   time.Time    // when it first fitted no node, or one of its asks was placed last
	round   int          // the round in which it had its turn last
	tried   []api.NodeID // where its claims lasted for ReserveMax, one for each
	places  int          // how many of its asks the nodes hold when all has left that may leave; at most placesMax
	at      uint64       // the count of changes of what nodes hold when that was counted; zero is never
	refused nodeset.Set  // nodes that the resource manager refuses even if all that runs there ends
}

// of is what slots know of a class.
func (s *Slots) of(c *backlog.Class) *slotClass { return s.classes.Of(c.Slot, c.Living()) }

// Since is when a class first fitted no node, or one of its asks was placed last; zero if it fits.
func (s *Slots) Since(c *backlog.Class) time.Time { return s.classes.Get(c.Slot, c.Living()).since }

// KeepAge has a class wait since a time, if it has not waited yet.
func (s *Slots) KeepAge(c *backlog.Class, since time.Time) {
	if !since.IsZero() && s.Since(c).IsZero() {
		s.of(c).since = since
	}
}

// Wanted notes that a class fits no node, and may want a slot once it has not for ReserveDelay.
func (s *Slots) Wanted(c *backlog.Class) {
	if s.Options.ReserveDelay < 0 {
		return
	}
	k := s.of(c)
	if k.since.IsZero() { // it may be listed since its last asks waited
		k.since, k.round = s.Now, s.round
		s.before(s.Now.Add(s.Options.ReserveDelay))
	}
	if at := s.listed.Of(c.Slot, c); !*at {
		*at = true
		s.Unplaced = append(s.Unplaced, c)
		s.before(timers.Later(k.since.Add(s.Options.ReserveDelay), s.Now))
	}
	s.EndAwait(c)
}

// before has the slots looked at at a time at the latest.
func (s *Slots) before(at time.Time) {
	s.Timers.SetBy(&s.timer, at, timers.Due{What: timers.Slots})
}

// Expire ends a claim that has lasted for ReserveMax. It is the turn of the other classes then, of
// less important ones too: each gets one claim before this one gets another.
func (s *Slots) Expire(r *ledger.Request) {
	if timers.IsDue(s.MomentOf(r, backlog.ClaimEnds), s.Now) {
		s.SetMoment(r, backlog.ClaimEnds, time.Time{})
		s.round++
		k := s.of(s.ClassOf(r))
		k.round, k.tried = s.round, append(k.tried, r.Wait.Claim.Node.ID)
		s.Kept.End(r, "it has lasted long enough", api.EndExpired)
	}
}

// HadTurn notes that an ask with a slot is placed: it was the turn of its class.
func (s *Slots) HadTurn(r *ledger.Request) { s.of(s.ClassOf(r)).round = s.round }

// Placed notes that an ask of a parked class was placed, which begins to wait anew.
func (s *Slots) Placed(c *backlog.Class) {
	if s.of(c).since = s.Now; c.Claims > 0 {
		s.MayHelpSlots()
	}
}

// most is how many slots there are.
func (s *Slots) most() int { return max(1, s.Nodes.Len()/10) }

// Look gives slots. It reports whether claims were ended for that, so that others may be placed.
func (s *Slots) Look() (freed bool) {
	if !s.TakeSlotsDue() {
		return false
	}
	s.ended = 0
	s.Timers.Cancel(&s.timer)
	for more := true; more; {
		more = s.giveEach(s.candidates())
	}
	return s.ended > 0 || s.SlotsDue
}

// giveEach gives a slot to the next ask of each class, the best first, as long as there are any or
// worse classes have some. It reports whether any was given.
func (s *Slots) giveEach(list []*backlog.Class) (given bool) {
	for _, c := range list {
		switch s.give(c) {
		case gotSlot:
			given = true
		case allGiven: // also for those after it
			return given
		case askOn:
			s.before(s.Now.Add(s.Options.RetryDelay))
		case notNow:
			s.before(s.Now.Add(s.Options.RetryMax))
		case noSlot:
		}
	}
	return given
}

// candidates are the classes that want a slot now, the best first. It forgets those that want none
// any more.
func (s *Slots) candidates() (list []*backlog.Class) {
	s.Unplaced = slices.DeleteFunc(s.Unplaced, func(c *backlog.Class) bool {
		if !c.Parked && s.listed.Get(c.Slot, c) {
			s.listed.Drop(c.Slot)
		}
		return !c.Parked
	})
	least := s.leastPlace()
	for _, c := range s.Unplaced {
		if at := s.of(c).since.Add(s.Options.ReserveDelay); at.After(s.Now) && s.isYoung(c) {
			s.before(at)
			continue
		}
		s.count(c)
		switch {
		case c.Unschedulable:
			s.AwaitAsk(c)
		case s.of(c).places == 0:
		case least.holds(c) && s.isYoung(c):
		default:
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *backlog.Class) int { return s.compare(a, a.Claims+1, b, b.Claims+1) })
	return list
}

// isYoung reports whether no ask of a class has waited for ReserveMax. What fits in any place waits for
// its turn only; but others of its queue may come before it for ever.
func (s *Slots) isYoung(c *backlog.Class) bool {
	r := c.Unclaimed(nil)
	if r == nil {
		return true
	}
	at := r.Created.Add(s.Options.ReserveMax)
	if young := at.After(s.Now); !young {
		return false
	}
	s.before(at)
	return true
}

// compare orders classes by their right to the claim that is the nth of each.
func (s *Slots) compare(a *backlog.Class, nth int, b *backlog.Class, other int) int {
	return cmp.Or(
		cmp.Compare(s.lastTurn(a, nth), s.lastTurn(b, other)),
		cmp.Compare(b.Importance, a.Importance),
		cmp.Compare(nth, other),
		cmp.Compare(s.of(a).places, s.of(b).places),
		s.of(a).since.Compare(s.of(b).since),
		strings.Compare(a.Key, b.Key),
	)
}

// lastTurn is when a class had its turn last. It has one claim for each.
func (s *Slots) lastTurn(c *backlog.Class, nth int) int {
	if nth > 1 {
		return s.round
	}
	return s.of(c).round
}

// slotOutcome is what became of a class that wants a slot.
type slotOutcome uint8

const (
	gotSlot  slotOutcome = iota
	noSlot               // until another ask of it waits
	allGiven             // to better classes, or questions pause
	notNow               // for reasons that may end without notice
	askOn                // the resource manager is to be asked about more nodes
)

// give gives a slot to the next ask of a class, if there is one and it can use it.
func (s *Slots) give(c *backlog.Class) slotOutcome {
	r := c.Unclaimed((*ledger.Request).MayClaim)
	if r == nil && c.Unclaimed(nil) == nil {
		s.AwaitAsk(c)
		return noSlot
	}
	if r == nil {
		return notNow
	}
	var worst *ledger.Request
	if s.Kept.slots >= s.most() {
		if worst = s.worst(); worst == nil || s.compare(c, c.Claims+1, s.ClassOf(worst), s.ClassOf(worst).Claims) >= 0 {
			return allGiven
		}
	}
	if wait := s.Predicates.Wait(api.FurtherQuestion); wait > 0 || s.Predicates.Calls >= question.CallsMax {
		s.before(s.Now.Add(max(wait, time.Nanosecond)))
		return allGiven
	}
	n, result := s.nodeFor(r, worst)
	if s.ClassOf(r) != c {
		s.ended++ // it is tried anew, with a class of its own
	}
	if n == nil {
		return result
	}
	if worst != nil {
		s.Kept.End(worst, "a better claim takes its slot", api.EndOutbid)
		s.ended++
	}
	s.Kept.Reserve(r, n)
	return gotSlot
}

// worst is the ask with the least right to its slot.
func (s *Slots) worst() (worst *ledger.Request) {
	for _, r := range s.Claims {
		if !r.Reserved() || r.Wait.Claim.Whole {
			continue
		}
		if worst == nil {
			worst = r
			continue
		}
		if order := s.compare(s.ClassOf(r), s.ClassOf(r).Claims, s.ClassOf(worst), s.ClassOf(worst).Claims); order > 0 || order == 0 && r.InOrder(worst) > 0 {
			worst = r
		}
	}
	return worst
}

// A CloseNode is a node that comes close to having room for an ask, by how much of it is missing.
type CloseNode struct {
	*ledger.Node
	Rank    int // comes first
	Missing resources.Share
}

// Compare is below zero if a node comes closer than another.
func (n CloseNode) Compare(other CloseNode) int {
	return cmp.Or(cmp.Compare(n.Rank, other.Rank), n.Missing.Compare(other.Missing))
}

// ReserveTriesMax bounds how many nodes the resource manager is asked about for
// one claim at a time. The next ones follow after RetryDelay.
const ReserveTriesMax = 16

// nodeFor is the node that comes closest to having room for an ask, of those that can hold it when
// all has left that may leave, beside all other claims but one: where the largest missing share is
// smallest, of those where claims of the class lasted for ReserveMax the least often.
func (s *Slots) nodeFor(r, without *ledger.Request) (best *ledger.Node, result slotOutcome) {
	var options []CloseNode // by how often claims of the class lasted there in vain
	for n := range s.AllNodes {
		switch {
		case !n.Schedulable || !s.mayHold(n, r, without) || s.of(s.ClassOf(r)).refused.Has(n.Slot, n.ChangedAt):
		default:
			tried := 0
			for _, id := range s.of(s.ClassOf(r)).tried {
				if id == n.ID {
					tried++
				}
			}
			options = append(options, CloseNode{Node: n, Rank: tried, Missing: r.Amounts.MissingShare(n.Room)})
		}
	}
	slices.SortStableFunc(options, CloseNode.Compare)
	for tries, o := range options {
		if tries == ReserveTriesMax {
			return nil, askOn
		}
		switch s.mayReserve(r, o.Node) {
		case question.Placed:
			return o.Node, gotSlot
		case question.Flush: // it must hear first what was placed there
			s.MayHelpSlots()
			return nil, notNow
		default:
		}
	}
	return nil, notNow // unless a claim ends or a node changes before
}

// mayHold reports whether a node can hold an ask beside all claims on it but one. Where evictions
// are on their way for others, it is not their room that is kept.
func (s *Slots) mayHold(n *ledger.Node, r, without *ledger.Request) bool {
	most := n.WhenLeft()
	for _, other := range n.Claims {
		switch {
		case other == without:
		case other.Nominated() != nil:
			return false
		default:
			most.Sub(other.Amounts)
		}
	}
	return r.Amounts.FitsIn(most)
}

// mayReserve asks whether an ask may run on a node once what runs there has ended. A resource
// manager that counts amounts itself refuses every full node as it is. What it refuses, also
// to an attempt, is not asked again before the node changes.
func (s *Slots) mayReserve(r *ledger.Request, n *ledger.Node) question.Outcome {
	result, err := s.Predicates.Check(r, n, false)
	if result == question.Waits && s.Options.Simulate != nil && !answers.IsUnresolvable(err) && !s.ClassOf(r).Simulations.IsRefusedEmpty(n) {
		if all := n.OwnKeys(func(*ledger.Request) bool { return true }); len(all) > 0 {
			if err = s.Predicates.Simulate(r, n, question.KeysOf(all)); err == nil {
				return question.Placed
			}
		}
	}
	if err != nil {
		s.Separate(r)
		s.Predicates.NoteUnresolvable(r, n, err)
		k := s.of(s.ClassOf(r))
		if k.refused.IsEmpty() {
			k.refused = nodeset.New(s.NodesChanged)
		}
		k.refused.Add(n.Slot, n.ChangedAt, s.NodesChanged)
	}
	return result
}
