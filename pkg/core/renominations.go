package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// renominations are asks that were nominated before a restart, as their tag says, until
// it is known whether they can be nominated to the same node again. What was evicted for
// them is leaving, so nothing is evicted for them now. Those whose node is not known, or takes
// nothing new yet, wait for it.
type renominations struct {
	*backlog
	kept       *claims
	evictions  *evictions
	predicates *predicates
	asks       askSet
	due        bool // one is new, or a node is ready
}

// add takes an ask that is new and was nominated before.
func (s *renominations) add(r *request) {
	if r.Required == "" {
		r.waiting().former, s.due = api.NodeID(r.Tags[api.TagNominatedNode]), true
		s.asks.add(r)
	}
}

// drop forgets an ask that waits no more, or for other amounts.
func (s *renominations) drop(r *request) {
	if r.wait.former != "" {
		s.asks.remove(r)
		r.wait.former = ""
	}
}

// nodeReady has the asks looked at if a node takes what is new.
func (s *renominations) nodeReady(n *node) { s.due = s.due || n.schedulable && s.asks.len() > 0 }

// look nominates asks again, the most important first. An ask that cannot be nominated
// again waits like any other. Allocations may be adopted after the asks in the same step,
// so this is not done on arrival.
func (s *renominations) look() {
	s.due = false
	asks := s.asks.list()
	slices.SortFunc(asks, func(a, b *request) int {
		return a.rank().compare(b.rank())
	})
	for _, r := range asks {
		n := s.findNode(r.wait.former)
		if n == nil || !n.schedulable {
			continue
		}
		s.drop(r)
		s.mayJoinTaskGroup(r)
		s.evictions.countOnAll(n) // some were evicted for the ask, however long they take
		if plan, ok := s.plan(r, n); ok {
			s.kept.renominate(r, n, &plan)
		}
	}
}

// plan is the plan for an ask and the node that it was nominated to, in which only those
// that are leaving make room. It is false if they do not make enough, of the node or of
// the quota.
func (s *renominations) plan(r *request, n *node) (plan preemptor.Decision, ok bool) {
	if !s.wantsRoom(r) || n.isBlocked() || r.lostQuota() {
		return plan, false
	}
	trigger, ok := s.trigger(r, n)
	if !ok {
		return plan, false
	}
	on := slices.DeleteFunc(n.candidates(), func(c preemptor.Candidate) bool { return !c.Releasing })
	plan = preemptor.Plan(s.now, s.preemption.PlanFor(trigger),
		preemptor.Ask{Trigger: trigger, Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority},
		preemptor.Node{Kinds: s.kinds, Free: n.roomToMake(r.importance, trigger), On: on})
	switch plan.Reason {
	case preemptor.RoomIsThere: // whether it may run there is asked before it is placed
		return plan, true
	case preemptor.WaitsForReleasing:
		return plan, s.options.Simulate == nil || s.predicates.feasibleAfterEvictions(r, n)
	}
	return plan, false
}

// trigger is why an ask was nominated, as far as that can be told from what is leaving:
// because of its priority, if those of a lower priority make enough room, else because of
// its guarantee. It is false if neither makes room for it any more.
func (s *renominations) trigger(r *request, n *node) (t preemptor.Trigger, ok bool) {
	byPriority, byGuarantee := s.preemption.Priority != api.PriorityOff, r.isUnderGuarantee()
	free := n.roomFor(r.importance).Clone()
	for _, other := range n.own {
		if other.releasing() && s.mayTake(r.importance, s.importance(other)) {
			free.Add(other.Amounts)
		}
	}
	if byGuarantee && !(byPriority && r.Amounts.FitsIn(free)) {
		return preemptor.Guarantee, true
	}
	return preemptor.Priority, byPriority
}
