package core

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// retries say when failed attempts are repeated. Where only priorities count it is
// known which node may help which class. Where more counts, and where the resource manager
// refuses, attempts are repeated when anything has changed, after RetryDelay at the earliest and
// so many at a time: what that takes does not depend on how many wait, nor on how often nodes change.
type retries struct {
	*backlog
	predicates *predicates
	timer      timers.Timer // of the queue

	byNode  []*class        // tried again when a node changes: by priority, the highest first
	queue   []*leafClass    // tried again when anything changes
	pending int             // how many at the front of the queue something has changed for
	excess  []*ledger.Queue // over their max, that could not give back enough
	// excessNow are those of this step: their own evictions do not help them.
	excessNow []*ledger.Queue
	last      time.Time // when the queue was tried again last
}

// failed lets no attempts be made for asks of the same class in the same leaf until
// something changes. The attempt began at this count of changed nodes. Simple says that only
// priorities and nodes decide.
func (s *retries) failed(r *ledger.Request, began uint64, simple bool) {
	leaf, c := s.groupOf(r).leaf, s.classOf(r)
	s.deactivate(leaf, r.Wait.Attempts)
	hard := s.predicates.budgetsBind()
	if simple && !hard {
		c.simulations.exhaust(began)
		if c.paced = c.paced || s.predicates.refuses(c); !c.paced {
			s.list(c)
			return
		}
	}
	for _, other := range c.leaves {
		if (other == leaf || c.paced && !other.active) && !other.queued {
			other.queued = true
			s.queue = append(s.queue, other)
		}
	}
	if hard { // budgets change without notice
		s.before(s.Now.Add(s.Options.RetryMax))
	}
	if began != s.predicates.changed { // something changed meanwhile
		s.before(s.Now.Add(s.Options.RetryDelay))
	}
}

// list has a class tried again when a node changes.
func (s *retries) list(c *class) {
	if c.listed {
		return
	}
	if len(s.byNode) >= 2*len(s.classes.known)+idleMax { // many are not known any more
		s.purge()
	}
	c.listed = true
	at, _ := slices.BinarySearchFunc(s.byNode, c.priority, func(other *class, priority int32) int {
		if other.priority >= priority {
			return -1 // it comes after its equals
		}
		return 1
	})
	s.byNode = slices.Insert(s.byNode, at, c)
}

// soon has the queue tried again, since something has changed.
func (s *retries) soon() {
	s.pending = len(s.queue)
	s.before(timers.Later(s.Now, s.last.Add(s.Options.RetryDelay)))
}

// addExcess has a queue that could not give back enough tried again when anything
// changes after this step.
func (s *retries) addExcess(q *ledger.Queue) {
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
	s.timers.SetBy(&s.timer, at, timers.Due{What: dueAttempts})
}

// retriesMax is how many classes are tried again at a time, so that many queues without room leave
// time for other things. One that the resource manager refused counts as often as nodes may help it.
const retriesMax = 64

// retry lets the first of the queue be tried again, and returns the queues that are to
// give back what they use beyond their max. Those that fail again go to the end, where
// they wait for the next change.
func (s *retries) retry() (excess []*ledger.Queue) {
	s.last = s.Now
	if s.pending == 0 {
		s.pending = len(s.queue) // it is time, though nothing has changed
	}
	for left := retriesMax; left > 0 && s.pending > 0; {
		leaf := s.queue[0]
		s.queue[0] = nil
		s.queue, s.pending, leaf.queued = s.queue[1:], s.pending-1, false
		left -= s.tryAgain(leaf)
	}
	excess, s.excess = s.excess, nil
	if s.pending > 0 {
		s.before(timers.Later(s.Now, s.last.Add(s.Options.RetryDelay))) // those that are left
	}
	return excess
}

// tryAgain lets a class be tried again in a leaf, and returns for how many it counts. If attempts
// failed on all nodes, it is tried on those that have changed since and may help. If there are none,
// it waits on.
func (s *retries) tryAgain(leaf *leafClass) int {
	known := leaf.class.simulations
	if known == nil || !known.exhausted || leaf.active {
		s.activate(leaf)
		return 1
	}
	if known.changed = s.helpful(leaf.class); len(known.changed) == 0 {
		known.since = s.predicates.changed
		leaf.queued = true
		s.queue = append(s.queue, leaf)
		return 1
	}
	s.activate(leaf)
	return len(known.changed)
}

// helpful are the nodes that have changed since attempts for a class failed on all, and would have
// room for it if all victims were evicted that there can be.
func (s *retries) helpful(c *class) (nodes []*ledger.Node) {
	for n := range s.AllNodes {
		if n.ChangedAt > c.simulations.since && n.Schedulable && !c.simulations.unresolvable.Has(n.Slot, n.UpdatedAt) {
			if freed, victims := s.freeable(n, c.priority); victims && s.mayHold(n, c, freed) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// mayHold reports whether a node would have room for a class if so much was freed.
func (s *retries) mayHold(n *ledger.Node, c *class, freed resources.Amounts) bool {
	return c.amounts.FitsInSum(freed, n.RoomToMake(c.importance, preemptor.Priority))
}

// nodeChanged lets the classes be tried again for which a node that changed would have room if
// all victims were evicted that there can be.
func (s *retries) nodeChanged(n *ledger.Node) {
	var freed resources.Amounts // by victims of one priority and below, and evictions
	var of int32
	known, victims := false, false
	s.filter(n, func(c *class) bool {
		if !known || of != c.priority {
			freed, victims = s.freeable(n, c.priority)
			known, of = true, c.priority
		}
		return victims && s.mayHold(n, c, freed)
	}, s.leastToTake(n.LowestPriority()))
}

// freeable is what evictions can free on a node for asks of a priority, and whether
// there are any.
func (s *retries) freeable(n *ledger.Node, priority int32) (freed resources.Amounts, victims bool) {
	freed = n.Releasing.Clone()
	victims = !n.Releasing.IsZero()
	for _, r := range n.Own {
		if s.MayTake(priority, r.Priority) {
			freed.Add(r.Amounts)
			victims = true
		}
	}
	return freed, victims
}

// roomTaken lets the classes be tried again for which there was room on a node before
// an allocation of a lower priority took it. While there is room, no attempt is made.
func (s *retries) roomTaken(r *ledger.Request) {
	n := r.RunsOn
	s.filter(n, func(c *class) bool {
		return c.amounts.FitsInSum(n.RoomFor(c.importance), r.Amounts)
	}, s.leastToTake(r.Priority))
}

// withoutQuota lets a class that a node would hold now be tried again in those leaves which lack
// quota. Where attempts failed while there was quota, they did not look for victims that hold
// quota, and those may be on any node. It reports whether there are such leaves.
func (s *retries) withoutQuota(c *class) (some bool) {
	for _, leaf := range c.leaves {
		if leaf.active || leaf.queued && !c.paced || !c.preempts {
			continue
		}
		if first := leaf.groups[0].first(); first != nil && first.WithoutRoom() != nil {
			c.simulations.help(nil)
			s.activate(leaf)
			some = true
		}
	}
	return some
}

// filter lets those listed classes be tried again that a node helps, of at least the
// lowest priority, and drops those that have no failed attempts.
func (s *retries) filter(n *ledger.Node, helps func(*class) bool, lowest int32) {
	dropped := false
	for _, c := range s.byNode {
		if c.priority < lowest {
			break
		}
		if c.isListed() && helps(c) {
			c.simulations.help(n)
			for _, leaf := range c.leaves {
				s.activate(leaf)
			}
		}
		dropped = dropped || !c.isListed()
	}
	if dropped {
		s.purge()
	}
}

// purge drops the classes that have no failed attempts.
func (s *retries) purge() {
	s.byNode = slices.DeleteFunc(s.byNode, func(c *class) bool {
		c.listed = c.isListed()
		return !c.listed
	})
}

// leastToTake is the least priority with which an ask may take the place of an
// allocation.
func (s *retries) leastToTake(allocation int32) int32 {
	if s.Preemption.Priority == api.EqualToo || allocation == math.MaxInt32 || allocation == api.PriorityNone {
		return allocation
	}
	return allocation + 1
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
