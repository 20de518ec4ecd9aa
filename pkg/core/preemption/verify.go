package preemption

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// Verify returns the first broken law, or nil: what is known of victims is known of asks that wait.
func (s *Claims) Verify() error {
	v := laws.Check{Partition: s.Name}
	for slot, r := range s.tookEqual.All {
		if r.Slot != slot {
			v.Breaks("%s took the place of equals, and does not wait", r.Key)
		}
	}
	return v.Err
}

// Verify returns the first broken law, or nil: slots are counted, and a class is given one when it is its
// turn.
func (s *Slots) Verify() error {
	v := laws.Check{Partition: s.Name}
	held, given := map[*backlog.Class]int{}, 0
	for _, r := range s.Claims {
		if r.Claim() != nil && r.Reserved() && !r.Claim().Whole {
			held[s.ClassOf(r)]++
			given++
		}
	}
	if given != s.Kept.slots {
		v.Breaks("%d slots are given and %d are counted", given, s.Kept.slots)
	}
	for _, c := range s.Classes.Known {
		if held[c] != c.Claims {
			v.Breaks("%s has %d slots and counts %d", s.Kinds.Format(c.Amounts), held[c], c.Claims)
		}
		if s.Rests && s.mayHave(c) && !s.timer.Set() && !s.SlotsDue {
			v.Breaks("%s fits no node, and nothing will give it a claim", s.Kinds.Format(c.Amounts))
		}
		if listed := slices.Contains(s.Unplaced, c); listed != s.listed.Get(c.Slot, c) || s.Options.ReserveDelay >= 0 && c.Parked && !listed {
			v.Breaks("%s fits no node and is listed for a slot is %t", s.Kinds.Format(c.Amounts), listed)
		}
	}
	return v.Err
}

// mayHave reports whether an ask of a class should have a claim: it has fitted on no node for
// long enough, it fits on a node when all has left that may leave, and no limit, quota, answer or
// better claim is in its way.
func (s *Slots) mayHave(c *backlog.Class) bool {
	if !c.Parked || c.Unschedulable || s.Options.ReserveDelay < 0 || s.Since(c).Add(s.Options.ReserveDelay).After(s.Now) || s.leastPlace().holds(c) {
		return false
	}
	r := c.Unclaimed((*ledger.Request).MayClaim)
	if r == nil {
		return false
	}
	if worst := s.worst(); s.Kept.slots >= s.most() && (worst == nil || s.compare(c, c.Claims+1, s.ClassOf(worst), s.ClassOf(worst).Claims) >= 0) {
		return false
	}
	for n := range s.AllNodes {
		if n.Schedulable && s.mayHold(n, r, nil) && !s.of(c).refused.Has(n.Slot, n.ChangedAt) {
			return true
		}
	}
	return false
}

// Verify returns the first broken law, or nil: every ask is listed that is to be nominated again, and is looked at if its
// node is ready.
func (s *Renominations) Verify() error {
	v := laws.Check{Partition: s.Name}
	asks := 0
	for _, r := range s.Requests {
		if r.RunsOn == nil && r.Wait != nil && r.Wait.Former != "" {
			asks++
		}
	}
	for r := range s.asks.All {
		if r.Wait == nil || r.Wait.Former == "" || s.Requests[r.Key] != r {
			v.Breaks("%s is to be nominated again, and does not know", r.Key)
		} else if n := s.FindNode(r.Wait.Former); n != nil && n.Schedulable && !s.Due {
			v.Breaks("%s waits to be nominated again to node %s, which is ready", r.Key, n.ID)
		}
	}
	if s.asks.Len() != asks {
		v.Breaks("%d asks are to be nominated again and %d are listed", asks, s.asks.Len())
	}
	return v.Err
}

// Verify returns the first broken law, or nil: every class for which an attempt failed is listed once, to be
// tried again.
func (s *Retries) Verify() error {
	v := laws.Check{Partition: s.Name}
	list := s.ByNode
	byNode, queued := laws.MembersOf(list), laws.MembersOf(s.Queue)
	if byNode.Twice || queued.Twice {
		v.Breaks("of %d classes and %d classes of queues that are tried again some are listed twice", len(list), len(s.Queue))
	}
	for i, c := range list {
		isKnown := s.Classes.Known[c.Key] == c // else its slot may be that of another one
		if isKnown && !s.listed.Get(c.Slot, c) || i > 0 && list[i-1].Priority < c.Priority {
			v.Breaks("%s is listed to be tried when a node changes, in the wrong place", s.Kinds.Format(c.Amounts))
		}
	}
	for _, leaf := range s.Queue {
		if !s.queued[leaf] {
			v.Breaks("%s is queued to be tried again, and does not know", s.Kinds.Format(leaf.Class.Amounts))
		}
	}
	if s.pending > len(s.Queue) || s.pending > 0 && !s.timer.Set() {
		v.Breaks("%d of %d are tried again, and it is not known when", s.pending, len(s.Queue))
	}
	for _, c := range s.Classes.Known {
		if listed := slices.Contains(s.Classes.Alike[c.Constraints], c); listed != (c.Constraints != "") {
			v.Breaks("class %q is listed among those of its constraints is %t", c.Constraints, listed)
		}
		if s.listed.Get(c.Slot, c) && !byNode.Has(c) {
			v.Breaks("%s is not listed to be tried when a node changes", s.Kinds.Format(c.Amounts))
		}
		for _, leaf := range c.Leaves {
			if s.queued[leaf] && !queued.Has(leaf) || c.Preempts && !leaf.Active && !s.queued[leaf] && !s.listed.Get(c.Slot, c) {
				v.Breaks("%s of queue %s is never tried again", s.Kinds.Format(c.Amounts), leaf.Leaf.Path)
			}
		}
	}
	return v.Err
}

// Verify returns the first broken law, or nil: each queue which uses more than its max is known for that, and
// no other, and one that could not give back enough is tried again.
func (s *Quotas) Verify() error {
	v := laws.Check{Partition: s.Name}
	s.verify(&v, s.Root)
	return v.Err
}

func (s *Quotas) verify(v *laws.Check, q *ledger.Queue) {
	e, listed := s.beyond[q], 0
	for _, other := range slices.Concat(s.Retries.Excess, s.Retries.ExcessNow) {
		if other == q {
			listed++
		}
	}
	_, gives := s.givesBackAt(q)
	switch {
	case listed > 1 || listed == 0 && e != nil && !e.left.IsZero() && e.again.IsZero():
		v.Breaks("queue %s could not give back enough and is listed %d times", q.Path, listed)
	case !s.Changes.None():
	case q.Used.Within(q.Max) != (e == nil):
		v.Breaks("queue %s: within its max is %t, beyond it is %t", q.Path, q.Used.Within(q.Max), e != nil)
	case gives && e.left == nil && !e.timer.Set() && !q.BeyondMax().IsZero():
		v.Breaks("queue %s is beyond its max and never gives back", q.Path)
	}
	for _, child := range q.Children {
		s.verify(v, child)
	}
}

// Verify returns the first broken law, or nil: each eviction is overdue some time, and what an overdue one
// keeps from its node has an end.
func (e *Evictions) Verify() error {
	v := laws.Check{Partition: e.Name}
	for n := range e.AllNodes {
		for r := range n.AllOn {
			if r.Releasing() && !r.Eviction.Timer.Set() {
				v.Breaks("the eviction of %s is never overdue", r.Key)
			}
			if of := r.Eviction; of != nil && of.Guard.Pauses() != of.Guard.Timer.Set() {
				v.Breaks("the eviction of %s keeps others from node %s for ever", r.Key, n.ID)
			}
		}
	}
	return v.Err
}

// Verify returns the first broken law of the heaps of what room costs, or nil: every place is known, and what
// costs least is first.
func (s *CostCache) Verify() error {
	v := laws.Check{Partition: s.Name}
	for _, c := range s.Known {
		for i := range c.Heap {
			if at, found := c.find(c.Heap[i].Node); !found || at != i {
				v.Breaks("node %s is in place %d and found in %d", c.Heap[i].Node.ID, i, at)
			}
			if i > 0 && c.Heap[i].Less(&c.Heap[(i-1)/2]) {
				v.Breaks("node %s costs less than one before it", c.Heap[i].Node.ID)
			}
		}
	}
	return v.Err
}

// Verify returns the first broken law, or nil: it is counted how many asks of each group the resource manager
// was told of, that no node can take them.
func (s *Hints) Verify() error {
	v := laws.Check{Partition: s.Name}
	counted := map[*backlog.AskGroup]int{}
	for _, r := range s.Requests {
		if r.IsHinted() {
			counted[s.GroupOf(r)]++
		}
	}
	for app := range s.Applications.Ascend {
		for g := range s.OfApplication(app).ByClass.All {
			if g.Hinted != counted[g] {
				v.Breaks("application %s: %d asks of a group were told of, counted %d", app.ID, counted[g], g.Hinted)
			}
		}
	}
	return v.Err
}
