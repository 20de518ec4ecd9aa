package preemption

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// Renominations are asks that were nominated before a restart, as their tag says, until
// it is known whether they can be nominated to the same node again. What was evicted for
// them is leaving, so nothing is evicted for them now. Those whose node is not known, or takes
// nothing new yet, wait for it.
type Renominations struct {
	*backlog.Backlog
	Kept       *Claims
	Evictions  *Evictions
	Predicates *question.Predicates
	asks       ledger.AskSet
	Due        bool // one is new, or a node is ready
}

// Add takes an ask that is new and was nominated before.
func (s *Renominations) Add(r *ledger.Request) {
	if r.Required == "" {
		r.Waiting().Renominates(api.NodeID(r.Tags[api.TagNominatedNode]))
		s.Due = true
		s.asks.Add(r)
	}
}

// Drop forgets an ask that waits no more, or for other amounts.
func (s *Renominations) Drop(r *ledger.Request) {
	if r.Wait.Former != "" {
		s.asks.Remove(r)
		r.Wait.Renominates("")
	}
}

// NodeReady has the asks looked at if a node takes what is new.
func (s *Renominations) NodeReady(n *ledger.Node) { s.Due = s.Due || n.Schedulable && s.asks.Len() > 0 }

// Look nominates asks again, the most important first. An ask that cannot be nominated
// again waits like any other. Allocations may be adopted after the asks in the same step,
// so this is not done on arrival.
func (s *Renominations) Look() {
	s.Due = false
	asks := s.asks.List()
	slices.SortFunc(asks, func(a, b *ledger.Request) int {
		return a.Rank().Compare(b.Rank())
	})
	for _, r := range asks {
		n := s.FindNode(r.Wait.Former)
		if n == nil || !n.Schedulable {
			continue
		}
		s.Drop(r)
		s.MayJoinTaskGroup(r)
		s.Evictions.countOnAll(n) // some were evicted for the ask, however long they take
		if plan, ok := s.plan(r, n); ok {
			s.Kept.Renominate(r, n, &plan)
		}
	}
}

// plan is the plan for an ask and the node that it was nominated to, in which only those
// that are leaving make room. It is false if they do not make enough, of the node or of
// the quota.
func (s *Renominations) plan(r *ledger.Request, n *ledger.Node) (plan preemptor.Decision, ok bool) {
	if !s.WantsRoom(r) || n.IsBlocked() || r.LostQuota() {
		return plan, false
	}
	trigger, ok := s.trigger(r, n)
	if !ok {
		return plan, false
	}
	on := slices.DeleteFunc(n.Candidates(), func(c preemptor.Candidate) bool { return !c.Releasing })
	plan = preemptor.Plan(s.Now, s.Preemption.PlanFor(trigger),
		preemptor.Ask{Trigger: trigger, Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority},
		preemptor.Node{Kinds: s.Kinds, Free: n.RoomToMake(r.Importance, trigger), On: on})
	switch plan.Reason {
	case preemptor.RoomIsThere: // whether it may run there is asked before it is placed
		return plan, true
	case preemptor.WaitsForReleasing:
		return plan, s.Options.Simulate == nil || s.Predicates.FeasibleAfterEvictions(r, n)
	}
	return plan, false
}

// trigger is why an ask was nominated, as far as that can be told from what is leaving:
// because of its priority, if those of a lower priority make enough room, else because of
// its guarantee. It is false if neither makes room for it any more.
func (s *Renominations) trigger(r *ledger.Request, n *ledger.Node) (t preemptor.Trigger, ok bool) {
	byPriority, byGuarantee := s.Preemption.Priority != api.PriorityOff, r.IsUnderGuarantee()
	free := n.RoomFor(r.Importance).Clone()
	for _, other := range n.Own {
		if other.Releasing() && s.MayTake(r.Importance, s.Importance(other)) {
			free.Add(other.Amounts)
		}
	}
	if byGuarantee && !(byPriority && r.Amounts.FitsIn(free)) {
		return preemptor.Guarantee, true
	}
	return preemptor.Priority, byPriority
}
