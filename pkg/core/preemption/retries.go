package preemption

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
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Retries say when failed attempts are repeated. Where only priorities count it is
// known which node may help which class. Where more counts, and where the resource manager
// refuses, attempts are repeated when anything has changed, after RetryDelay at the earliest and
// so many at a time: what that takes does not depend on how many wait, nor on how often nodes change.
type Retries struct {
	*backlog.Backlog
	Predicates *question.Predicates
	timer      timers.Timer // of the queue

	paced    tables.Table[backlog.Living, bool]
	anyPaced bool                               // there was ever one
	listed   tables.Table[*backlog.Class, bool] // which are in ByNode
	ByNode   []*backlog.Class                   // tried again when a node changes: by priority, the highest first
	Queue    []*backlog.LeafClass               // tried again when anything changes
	queued   map[*backlog.LeafClass]bool        // what is in it
	pending  int                                // how many at the front of the queue something has changed for
	Excess   []*ledger.Queue                    // over their max, that could not give back enough
	// ExcessNow are those of this step: their own evictions do not help them.
	ExcessNow []*ledger.Queue
	last      time.Time // when the queue was tried again last
}

// failed lets no attempts be made for asks of the same class in the same leaf until
// something changes. The attempt began at this count of changed nodes. Simple says that only
// priorities and nodes decide.
func (s *Retries) failed(r *ledger.Request, began uint64, simple bool) {
	leaf, c := s.GroupOf(r).Leaf, s.ClassOf(r)
	s.Deactivate(leaf, r.Wait.Attempts)
	hard := s.Predicates.BudgetsBind()
	if simple && !hard {
		c.Simulations.Exhaust(began)
		if !s.isPaced(c) && !s.Predicates.Refuses(c) {
			s.list(c)
			return
		}
		*s.paced.Of(c.Slot, c.Living()), s.anyPaced = true, true
	}
	for _, other := range c.Leaves {
		if (other == leaf || s.isPaced(c) && !other.Active) && !s.queued[other] {
			s.enqueue(other)
		}
	}
	if hard { // budgets change without notice
		s.before(s.Now.Add(s.Options.RetryMax))
	}
	if began != s.NodesChanged { // something changed meanwhile
		s.before(s.Now.Add(s.Options.RetryDelay))
	}
}

// enqueue has a class in a leaf tried again when anything changes.
func (s *Retries) enqueue(leaf *backlog.LeafClass) {
	if s.queued == nil {
		s.queued = map[*backlog.LeafClass]bool{}
	}
	s.queued[leaf] = true
	s.Queue = append(s.Queue, leaf)
}

// isPaced reports whether a class is not tried again when a node changes, since the resource manager refused it: it is
// tried again in turn.
func (s *Retries) isPaced(c *backlog.Class) bool {
	return s.anyPaced && s.paced.Get(c.Slot, c.Living())
}

// isListed reports whether it matters for a class which nodes change.
func (s *Retries) isListed(c *backlog.Class) bool {
	fails := func(leaf *backlog.LeafClass) bool { return !leaf.Active }
	return !s.isPaced(c) && (c.Simulations.HaveFailed() || slices.ContainsFunc(c.Leaves, fails))
}

// list has a class tried again when a node changes.
func (s *Retries) list(c *backlog.Class) {
	if s.listed.Get(c.Slot, c) {
		return
	}
	if len(s.ByNode) >= 2*len(s.Classes.Known)+backlog.IdleMax { // many are not known any more
		s.purge()
	}
	*s.listed.Of(c.Slot, c) = true
	at, _ := slices.BinarySearchFunc(s.ByNode, c.Priority, func(other *backlog.Class, priority int32) int {
		if other.Priority >= priority {
			return -1 // it comes after its equals
		}
		return 1
	})
	s.ByNode = slices.Insert(s.ByNode, at, c)
}

// Soon has the queue tried again, since something has changed.
func (s *Retries) Soon() {
	s.pending = len(s.Queue)
	s.before(timers.Later(s.Now, s.last.Add(s.Options.RetryDelay)))
}

// addExcess has a queue that could not give back enough tried again when anything
// changes after this step.
func (s *Retries) addExcess(q *ledger.Queue) {
	if !slices.Contains(s.Excess, q) && !slices.Contains(s.ExcessNow, q) {
		s.ExcessNow = append(s.ExcessNow, q)
	}
}

// EndStep has what changes from now on count for the queues of this step.
func (s *Retries) EndStep() {
	s.Excess = append(s.Excess, s.ExcessNow...)
	s.ExcessNow = s.ExcessNow[:0]
}

// before has the queue tried again at a time at the latest.
func (s *Retries) before(at time.Time) {
	s.Timers.SetBy(&s.timer, at, timers.Due{What: timers.Attempts})
}

// retriesMax is how many classes are tried again at a time, so that many queues without room leave
// time for other things. One that the resource manager refused counts as often as nodes may help it.
const retriesMax = 64

// Retry lets the first of the queue be tried again, and returns the queues that are to
// give back what they use beyond their max. Those that fail again go to the end, where
// they wait for the next change.
func (s *Retries) Retry() (excess []*ledger.Queue) {
	s.last = s.Now
	if s.pending == 0 {
		s.pending = len(s.Queue) // it is time, though nothing has changed
	}
	for left := retriesMax; left > 0 && s.pending > 0; {
		leaf := s.Queue[0]
		s.Queue[0] = nil
		s.Queue, s.pending = s.Queue[1:], s.pending-1
		delete(s.queued, leaf)
		left -= s.tryAgain(leaf)
	}
	excess, s.Excess = s.Excess, nil
	if s.pending > 0 {
		s.before(timers.Later(s.Now, s.last.Add(s.Options.RetryDelay))) // those that are left
	}
	return excess
}

// tryAgain lets a class be tried again in a leaf, and returns for how many it counts. If attempts
// failed on all nodes, it is tried on those that have changed since and may help. If there are none,
// it waits on.
func (s *Retries) tryAgain(leaf *backlog.LeafClass) int {
	known := leaf.Class.Simulations
	if !known.HaveFailed() || leaf.Active {
		s.Activate(leaf)
		return 1
	}
	nodes := s.helpful(leaf.Class)
	if known.HelpedBy(nodes, s.NodesChanged); len(nodes) == 0 {
		s.enqueue(leaf)
		return 1
	}
	s.Activate(leaf)
	return len(nodes)
}

// helpful are the nodes that have changed since attempts for a class failed on all, and would have
// room for it if all victims were evicted that there can be.
func (s *Retries) helpful(c *backlog.Class) (nodes []*ledger.Node) {
	for n := range s.AllNodes {
		if n.Schedulable && c.Simulations.IsNews(n) {
			if freed, victims := s.freeable(n, c.Priority); victims && s.mayHold(n, c, freed) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// mayHold reports whether a node would have room for a class if so much was freed.
func (s *Retries) mayHold(n *ledger.Node, c *backlog.Class, freed resources.Amounts) bool {
	return c.Amounts.FitsInSum(freed, n.RoomToMake(c.Importance, preemptor.Priority))
}

// NodeChanged lets the classes be tried again for which a node that changed would have room if
// all victims were evicted that there can be.
func (s *Retries) NodeChanged(n *ledger.Node) {
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
func (s *Retries) freeable(n *ledger.Node, priority int32) (freed resources.Amounts, victims bool) {
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

// RoomTaken lets the classes be tried again for which there was room on a node before
// an allocation of a lower priority took it. While there is room, no attempt is made.
func (s *Retries) RoomTaken(r *ledger.Request) {
	n := r.RunsOn
	s.filter(n, func(c *backlog.Class) bool {
		return c.Amounts.FitsInSum(n.RoomFor(c.Importance), r.Amounts)
	}, s.leastToTake(r.Priority))
}

// WithoutQuota lets a class that a node would hold now be tried again in those leaves which lack
// quota. Where attempts failed while there was quota, they did not look for victims that hold
// quota, and those may be on any node. It reports whether there are such leaves.
func (s *Retries) WithoutQuota(c *backlog.Class) (some bool) {
	for _, leaf := range c.Leaves {
		if leaf.Active || s.queued[leaf] && !s.isPaced(c) || !c.Preempts {
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
func (s *Retries) filter(n *ledger.Node, helps func(*backlog.Class) bool, lowest int32) {
	dropped := false
	for _, c := range s.ByNode {
		if c.Priority < lowest {
			break
		}
		listed := s.isListed(c)
		if listed && helps(c) {
			c.Simulations.Help(n)
			for _, leaf := range c.Leaves {
				s.Activate(leaf)
			}
		}
		dropped = dropped || !s.isListed(c)
	}
	if dropped {
		s.purge()
	}
}

// purge drops the classes that have no failed attempts.
func (s *Retries) purge() {
	s.ByNode = slices.DeleteFunc(s.ByNode, func(c *backlog.Class) bool {
		stays := s.isListed(c)
		if !stays && s.listed.Get(c.Slot, c) {
			s.listed.Drop(c.Slot)
		}
		return !stays
	})
}

// leastToTake is the least priority with which an ask may take the place of an
// allocation.
func (s *Retries) leastToTake(allocation int32) int32 {
	if s.Preemption.Priority == api.EqualToo || allocation == math.MaxInt32 || allocation == api.PriorityNone {
		return allocation
	}
	return allocation + 1
}

// All lets every class be tried again.
func (s *Retries) All() {
	for _, key := range slices.Sorted(maps.Keys(s.Classes.Known)) {
		if c := s.Classes.Known[key]; c.Preempts {
			c.Simulations.Help(nil)
			for _, leaf := range c.Leaves {
				s.Activate(leaf)
			}
		}
	}
}
