package core

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// retries say when failed attempts are repeated. Where only priorities count it is
// known which node may help which class. Where more counts, attempts are repeated when
// anything has changed, after RetryDelay at the earliest.
type retries struct {
	*backlog
	predicates *predicates
	timer      timers.Timer[due]

	byNode  classList    // tried again when a node changes
	purgeAt int          // how many there may be before those without failed attempts are dropped
	queue   []*leafClass // tried again when anything changes
	pending int          // how many at the front of the queue something has changed for
	joined  []*node      // on which an allocation arrived that may change answers, each once
	excess  []*queue     // over their max, that could not give back enough
	// excessNow are those of this step: their own evictions do not help them.
	excessNow []*queue
	at        time.Time // when the queue is tried again; zero is not at all
	last      time.Time // when the queue was tried again last
}

// failed lets no attempts be made for asks of the same class in the same leaf until
// something changes. The attempt began at this count of changed nodes. Simple says that only
// priorities and nodes decide.
func (s *retries) failed(r *request, began uint64, simple bool) {
	leaf := r.group.leaf
	s.deactivate(leaf, r.wait.attempts)
	hard := s.predicates.budgetsBind()
	if simple && !hard {
		leaf.class.simulations.exhaust()
		s.list(leaf.class)
		return
	}
	if !leaf.queued {
		leaf.queued = true
		s.queue = append(s.queue, leaf)
	}
	if hard { // budgets change without notice
		s.before(s.now.Add(s.options.RetryMax))
	}
	if began != s.predicates.changed { // something changed meanwhile
		s.before(s.now.Add(s.options.RetryDelay))
	}
}

// list has a class tried again when a node changes.
func (s *retries) list(c *class) {
	if c.listed {
		return
	}
	if s.byNode.count >= s.purgeAt {
		s.purge()
		s.purgeAt = 2*s.byNode.count + 64
	}
	c.listed = true
	s.byNode.add(c)
}

// soon has the queue tried again, since something has changed.
func (s *retries) soon() {
	s.pending = len(s.queue)
	s.before(later(s.now, s.last.Add(s.options.RetryDelay)))
}

// addExcess has a queue that could not give back enough tried again when anything
// changes after this step.
func (s *retries) addExcess(q *queue) {
	if !slices.Contains(s.excess, q) && !slices.Contains(s.excessNow, q) {
		s.excessNow = append(s.excessNow, q)
	}
}

// endStep has what changes from now on count for the queues of this step.
func (s *retries) endStep() {
	s.excess = append(s.excess, s.excessNow...)
	s.excessNow = s.excessNow[:0]
}

// before has the queue tried again at a time at the latest.
func (s *retries) before(at time.Time) {
	if s.at.IsZero() || at.Before(s.at) {
		s.at = at
		s.timers.Set(&s.timer, at, due{what: dueAttempts})
	}
}

// retriesMax is how many classes are tried again at a time, so that many queues
// without room leave time for other things.
const retriesMax = 64

// retry lets the first of the queue be tried again, and returns the queues that are to
// give back what they use beyond their max. Those that fail again go to the end, where
// they wait for the next change.
func (s *retries) retry() (excess []*queue) {
	s.at, s.last = time.Time{}, s.now
	s.retryJoined()
	if s.pending == 0 {
		s.pending = len(s.queue) // it is time, though nothing has changed
	}
	again := s.queue[:min(s.pending, retriesMax)]
	s.queue = slices.Clone(s.queue[len(again):])
	s.pending -= len(again)
	for _, leaf := range again {
		leaf.queued = false
		leaf.class.simulations.help(nil)
		s.activate(leaf)
	}
	excess, s.excess = s.excess, nil
	if s.pending+len(s.joined) > 0 {
		s.before(later(s.now, s.last.Add(s.options.RetryDelay))) // those that are left
	}
	return excess
}

// arrived notes that an allocation arrived on a node: the resource manager may agree there
// now to asks that it refused, which need that allocation beside them.
func (s *retries) arrived(n *node) {
	least := s.leastToTake(n.lowestPriority())
	helps := false
	if !n.details.read().joined {
		s.byNode.from(least, func(c *class) bool {
			helps = c.isListed() && c.wasRefusedOn(n)
			return !helps
		})
	}
	if !helps {
		return
	}
	n.details.change().joined = true
	s.joined = append(s.joined, n)
	s.before(later(s.now, s.last.Add(s.options.RetryDelay)))
}

// retryJoined lets the classes be tried again that were refused on nodes on which something
// arrived, on so many nodes at a time: each may be asked about for each of those classes.
func (s *retries) retryJoined() {
	now := s.joined[:min(len(s.joined), retriesMax)]
	s.joined = slices.Clone(s.joined[len(now):])
	for _, n := range now {
		if n.details.change().joined = false; !n.gone && n.schedulable && s.byNode.count > 0 {
			s.helpedBy(n, func(c *class) bool { return c.wasRefusedOn(n) })
		}
	}
}

// wasRefusedOn reports whether a class was refused on a node, so that something which arrives
// there may help.
func (c *class) wasRefusedOn(n *node) bool {
	s := c.simulations
	if s == nil {
		return c.refusedOn(n)
	}
	return !s.unresolvable.has(n.slot, n.updatedAt) && (c.refusedOn(n) || s.failed[preemptor.Priority].knew(n.slot))
}

// nodeChanged lets the classes be tried again that a node which changed may help.
func (s *retries) nodeChanged(n *node) { s.helpedBy(n, func(*class) bool { return true }) }

// helpedBy lets those of some classes be tried again for which a node would have room if
// all victims were evicted that there can be.
func (s *retries) helpedBy(n *node, some func(*class) bool) {
	var freed resources.Amounts // by victims of one priority and below, and evictions
	var of int32
	known, victims := false, false
	s.filter(n, func(c *class) bool {
		if !some(c) {
			return false
		}
		if !known || of != c.priority {
			freed, victims = s.freeable(n, c.priority)
			known, of = true, c.priority
		}
		return victims && c.amounts.FitsInSum(freed, n.roomToMake(c.importance, preemptor.Priority))
	}, s.leastToTake(n.lowestPriority()))
}

// freeable is what evictions can free on a node for asks of a priority, and whether
// there are any.
func (s *retries) freeable(n *node, priority int32) (freed resources.Amounts, victims bool) {
	freed = n.releasing.Clone()
	victims = !n.releasing.IsZero()
	for _, r := range n.own {
		if s.mayTake(priority, r.Priority) {
			freed.Add(r.Amounts)
			victims = true
		}
	}
	return freed, victims
}

// roomTaken lets the classes be tried again for which there was room on a node before
// an allocation of a lower priority took it. While there is room, no attempt is made.
func (s *retries) roomTaken(r *request) {
	n := r.node
	s.filter(n, func(c *class) bool {
		return c.amounts.FitsInSum(n.roomFor(c.importance), r.Amounts)
	}, s.leastToTake(r.Priority))
}

// withoutQuota lets a class that a node would hold now be tried again in those leaves which lack
// quota. Where attempts failed while there was quota, they did not look for victims that hold
// quota, and those may be on any node. It reports whether there are such leaves.
func (s *retries) withoutQuota(c *class) (some bool) {
	for _, leaf := range c.leaves {
		if leaf.active || leaf.queued || !c.preempts {
			continue
		}
		if first := leaf.groups[0].first(); first != nil && first.withoutRoom() != nil {
			c.simulations.help(nil)
			s.activate(leaf)
			some = true
		}
	}
	return some
}

// filter lets those listed classes be tried again that a node helps, of at least the
// lowest priority, and drops those that have no failed attempts.
func (s *retries) filter(n *node, helps func(*class) bool, lowest int32) {
	dropped := false
	s.byNode.from(lowest, func(c *class) bool {
		if c.isListed() && helps(c) {
			c.simulations.help(n)
			for _, leaf := range c.leaves {
				s.activate(leaf)
			}
		}
		dropped = dropped || !c.isListed()
		return true
	})
	if dropped {
		s.purge()
	}
}

// purge drops the classes that have no failed attempts.
func (s *retries) purge() {
	s.byNode.keep(func(c *class) bool {
		c.listed = c.isListed()
		return c.listed
	})
}

// isListed reports whether it matters for a class which nodes change.
func (c *class) isListed() bool {
	return c.passive > 0 || c.simulations != nil && c.simulations.exhausted
}

// leastToTake is the least priority with which an ask may take the place of an
// allocation.
func (s *retries) leastToTake(allocation int32) int32 {
	if s.preemption.Priority == EqualToo || allocation == math.MaxInt32 || allocation == PriorityNone {
		return allocation
	}
	return allocation + 1
}

// lowestPriority is the lowest priority of an allocation on a node, or PriorityNone if
// a change there may help any ask.
func (n *node) lowestPriority() int32 {
	if !n.releasing.IsZero() || len(n.own) == 0 {
		return PriorityNone
	}
	lowest := int32(math.MaxInt32)
	for _, r := range n.own { // evictions that are overdue count too
		lowest = min(lowest, r.Priority)
	}
	return lowest
}

// all lets every class be tried again.
func (s *retries) all() {
	for _, key := range slices.Sorted(maps.Keys(s.classes.known)) {
		if c := s.classes.known[key]; c.preempts {
			c.simulations.help(nil)
			for _, leaf := range c.leaves {
				s.activate(leaf)
			}
		}
	}
}
