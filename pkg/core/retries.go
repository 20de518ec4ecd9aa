package core

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// retries say when failed attempts are repeated. Where only priorities count it is
// known which node may help which class. Where more counts, and where the resource manager
// refuses, attempts are repeated when anything has changed, after RetryDelay at the earliest and
// so many at a time: what that takes does not depend on how many wait, nor on how often nodes change.
type retries struct {
	*backlog.Backlog
	predicates *question.Predicates
	timer      timers.Timer // of the queue

	byNode  []*backlog.Class     // tried again when a node changes: by priority, the highest first
	queue   []*backlog.LeafClass // tried again when anything changes
	pending int                  // how many at the front of the queue something has changed for
	excess  []*ledger.Queue      // over their max, that could not give back enough
	// excessNow are those of this step: their own evictions do not help them.
	excessNow []*ledger.Queue
	last      time.Time // when the queue was tried again last
}

// failed lets no attempts be made for asks of the same class in the same leaf until
// something changes. The attempt began at this count of changed nodes. Simple says that only
// priorities and nodes decide.
func (s *retries) failed(r *ledger.Request, began uint64, simple bool) {
	leaf, c := s.GroupOf(r).Leaf, s.ClassOf(r)
	s.Deactivate(leaf, r.Wait.Attempts)
	hard := s.predicates.BudgetsBind()
	if simple && !hard {
		c.Simulations.Exhaust(began)
		if c.Paced = c.Paced || s.predicates.Refuses(c); !c.Paced {
			s.list(c)
			return
		}
	}
	for _, other := range c.Leaves {
		if (other == leaf || c.Paced && !other.Active) && !other.Queued {
			other.Queued = true
			s.queue = append(s.queue, other)
		}
	}
	if hard { // budgets change without notice
		s.before(s.Now.Add(s.Options.RetryMax))
	}
	if began != s.predicates.Changed { // something changed meanwhile
		s.before(s.Now.Add(s.Options.RetryDelay))
	}
}

// list has a class tried again when a node changes.
func (s *retries) list(c *backlog.Class) {
	if c.Listed {
		return
	}
	if len(s.byNode) >= 2*len(s.Classes.Known)+backlog.IdleMax { // many are not known any more
		s.purge()
	}
	c.Listed = true
	at, _ := slices.BinarySearchFunc(s.byNode, c.Priority, func(other *backlog.Class, priority int32) int {
		if other.Priority >= priority {
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
	s.Timers.SetBy(&s.timer, at, timers.Due{What: dueAttempts})
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
		s.queue, s.pending, leaf.Queued = s.queue[1:], s.pending-1, false
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
func (s *retries) tryAgain(leaf *backlog.LeafClass) int {
	known := leaf.Class.Simulations
	if known == nil || !known.Exhausted || leaf.Active {
		s.Activate(leaf)
		return 1
	}
	if known.Changed = s.helpful(leaf.Class); len(known.Changed) == 0 {
		known.Since = s.predicates.Changed
		leaf.Queued = true
		s.queue = append(s.queue, leaf)
		return 1
	}
	s.Activate(leaf)
	return len(known.Changed)
}

// helpful are the nodes that have changed since attempts for a class failed on all, and would have
// room for it if all victims were evicted that there can be.
func (s *retries) helpful(c *backlog.Class) (nodes []*ledger.Node) {
	for n := range s.AllNodes {
		if n.ChangedAt > c.Simulations.Since && n.Schedulable && !c.Simulations.Unresolvable.Has(n.Slot, n.UpdatedAt) {
			if freed, victims := s.freeable(n, c.Priority); victims && s.mayHold(n, c, freed) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// mayHold reports whether a node would have room for a class if so much was freed.
func (s *retries) mayHold(n *ledger.Node, c *backlog.Class, freed resources.Amounts) bool {
	return c.Amounts.FitsInSum(freed, n.RoomToMake(c.Importance, preemptor.Priority))
}

// nodeChanged lets the classes be tried again for which a node that changed would have room if
// all victims were evicted that there can be.
func (s *retries) nodeChanged(n *ledger.Node) {
	var freed resources.Amounts // by victims of one priority and below, and evictions
	var of int32
	known, victims := false, false
	s.filter(n, func(c *backlog.Class) bool {
		if !known || of != c.Priority {
			freed, victims = s.freeable(n, c.Priority)
			known, of = true, c.Priority
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
	s.filter(n, func(c *backlog.Class) bool {
		return c.Amounts.FitsInSum(n.RoomFor(c.Importance), r.Amounts)
	}, s.leastToTake(r.Priority))
}

// withoutQuota lets a class that a node would hold now be tried again in those leaves which lack
// quota. Where attempts failed while there was quota, they did not look for victims that hold
// quota, and those may be on any node. It reports whether there are such leaves.
func (s *retries) withoutQuota(c *backlog.Class) (some bool) {
	for _, leaf := range c.Leaves {
		if leaf.Active || leaf.Queued && !c.Paced || !c.Preempts {
			continue
		}
		if first := leaf.Groups[0].First(); first != nil && first.WithoutRoom() != nil {
			c.Simulations.Help(nil)
			s.Activate(leaf)
			some = true
		}
	}
	return some
}

// filter lets those listed classes be tried again that a node helps, of at least the
// lowest priority, and drops those that have no failed attempts.
func (s *retries) filter(n *ledger.Node, helps func(*backlog.Class) bool, lowest int32) {
	dropped := false
	for _, c := range s.byNode {
		if c.Priority < lowest {
			break
		}
		if c.IsListed() && helps(c) {
			c.Simulations.Help(n)
			for _, leaf := range c.Leaves {
				s.Activate(leaf)
			}
		}
		dropped = dropped || !c.IsListed()
	}
	if dropped {
		s.purge()
	}
}

// purge drops the classes that have no failed attempts.
func (s *retries) purge() {
	s.byNode = slices.DeleteFunc(s.byNode, func(c *backlog.Class) bool {
		c.Listed = c.IsListed()
		return !c.Listed
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
	for _, key := range slices.Sorted(maps.Keys(s.Classes.Known)) {
		if c := s.Classes.Known[key]; c.Preempts {
			c.Simulations.Help(nil)
			for _, leaf := range c.Leaves {
				s.Activate(leaf)
			}
		}
	}
}
