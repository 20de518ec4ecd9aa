package question

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Refused is the set of classes that the resource manager refused on every node with
// room. When a node is freed, it is asked about that node again, after RetryDelay at
// the earliest.
type Refused struct {
	*backlog.Backlog
	Predicates *Predicates
	Order      *backlog.NodeOrder
	// WithoutQuota lets a class be tried again in leaves which lacked quota only.
	WithoutQuota func(*backlog.Class) bool
	soon         timers.Timer // freed nodes are asked about
	whole        timers.Timer // everything is asked again
	resumes      timers.Timer // questions go on

	list     []*backlog.Class                     // that are unschedulable, and others that were requeued
	listed   tables.Table[*backlog.Class, bool]   // which are in it
	resumed  tables.Table[*backlog.Queue, uint64] // the turn in which questions about an ask of a leaf went on
	paused   []pausedAsk                          // whose questions go on later, in order, and others
	held     [2]time.Time                         // until when those of asks go on, first and repeated ones
	turn     uint64                               // counts how often questions went on
	regained []*ledger.Node                       // freed since the last time, each once
	regains  tables.Table[*ledger.Node, bool]     // which are among them
	last     time.Time                            // when freed nodes were asked about last
	tries    int                                  // how many classes may still be asked for now
}

// askedAtOnce is for how many classes one look at freed nodes asks.
const askedAtOnce = 64

// A pausedAsk is the first ask of a class whose questions go on later.
type pausedAsk struct {
	*backlog.Class
	ask *ledger.Request
}

// isCurrent reports whether the ask still pauses.
func (e pausedAsk) isCurrent() bool { return e.Paused == e.ask }

// placeOf is the place of the questions about a class in held.
func placeOf(r *answers.Refusals) int {
	if r.Question() == api.RepeatedQuestion {
		return 1
	}
	return 0
}

// Begin is the refusals of a class, begun if there are none.
func (s *Refused) Begin(c *backlog.Class) *answers.Refusals {
	return c.BeginRefusals(s.NodesFreed)
}

// MarkUnschedulable takes a class out of the order, since it is refused on all nodes
// with room, until it is to be tried again.
func (s *Refused) MarkUnschedulable(c *backlog.Class) {
	s.Begin(c).Finish(s.NodesFreed)
	s.Dequeue(c, nil)
	if at := s.listed.Of(c.Slot, c); !*at { // it may be there still, requeued
		*at = true
		s.list = append(s.list, c)
	}
	s.MayHint()
	s.Timers.SetBy(&s.whole, s.Now.Add(s.Options.RetryMax), timers.Due{What: timers.Refused})
}

// Listed are the classes that all nodes with room have refused, and some that are tried again since. The list is
// not to be changed.
func (s *Refused) Listed() []*backlog.Class { return s.list }

// Pause takes the class of an ask out of the order whose questions go on after a while,
// and with it holds all questions of their kind.
func (s *Refused) Pause(ask *ledger.Request, wait time.Duration) {
	c := s.ClassOf(ask)
	r := s.Begin(c)
	s.Dequeue(c, ask)
	place, _ := slices.BinarySearchFunc(s.paused, ask, func(e pausedAsk, r *ledger.Request) int { return e.ask.InOrder(r) })
	s.paused = slices.Insert(s.paused, place, pausedAsk{c, ask})
	s.held[placeOf(r)] = s.Now.Add(wait)
	s.Timers.SetBy(&s.resumes, s.held[placeOf(r)], timers.Due{What: timers.Questions})
}

// putBack puts a class into the order again, to be tried on every node that its
// refusals do not name.
func (s *Refused) putBack(c *backlog.Class) {
	s.PutBack(c)
	s.WithoutQuota(c)
}

// AskAnew forgets what the resource manager refused a class, and lets it be tried again.
func (s *Refused) AskAnew(c *backlog.Class) {
	r := c.Refused
	if r == nil {
		return
	}
	r.Drop(s.NodesFreed)
	if c.Unschedulable && c.Paused == nil {
		s.putBack(c)
	}
}

// Tied has the resource manager asked again about the asks to which an allocation has ties: answers
// about them may change on other nodes than its own when it comes or goes, by affinity, and where
// pods are spread over zones. If it was placed on a node, the resource manager does not know of it
// yet: then it is not asked about them before it does.
func (s *Refused) Tied(r *ledger.Request, placed *ledger.Node) {
	if s.Options.Tied == nil {
		return
	}
	var on api.NodeID
	if placed != nil {
		on = placed.ID
	}
	for _, constraints := range s.Options.Tied(r.Key, on) {
		for _, c := range s.Classes.Alike[constraints] {
			if placed != nil {
				*s.Predicates.ties.Of(c.Slot, c) = s.Batch
			}
			s.AskAnew(c)
		}
	}
}

// Resume lets the first classes of a leaf queue be tried again, if their questions may go
// on now, and those of another in the next batch. They are few, so that not many more are
// tried than can ask something, and enough that a look at all that wait is worth it.
// Where questions are not held back, all go on.
func (s *Refused) Resume() {
	leaf := s.nextLeaf()
	if leaf == nil {
		return
	}
	s.turn++
	*s.resumed.Of(leaf.Slot, leaf) = s.turn
	left, all := max(resumedAtOnce, len(s.paused)/resumedPart), s.Options.Pace == nil
	kept := s.paused[:0]
	for _, e := range s.paused {
		switch goesOn := !s.held[placeOf(e.Refused)].After(s.Now); {
		case all || goesOn && left > 0 && e.ask.App.Queue == leaf.Queue:
			left--
			s.putBack(e.Class)
		default:
			if goesOn {
				s.Timers.SetBy(&s.resumes, s.Now.Add(time.Nanosecond), timers.Due{What: timers.Questions})
			}
			kept = append(kept, e)
		}
	}
	clear(s.paused[len(kept):])
	s.paused = kept
}

// How many classes are tried again at once: so many, or one in so many of those that
// wait.
const resumedAtOnce, resumedPart = 16, 64

// nextLeaf is the leaf queue whose turn it is, nil if questions may go on in none. It sets
// when they may. Classes that wait no longer are dropped.
func (s *Refused) nextLeaf() (leaf *backlog.Queue) {
	s.Timers.Cancel(&s.resumes)
	s.paused = slices.DeleteFunc(s.paused, func(e pausedAsk) bool { return !e.isCurrent() })
	for _, e := range s.paused {
		at, of := s.held[placeOf(e.Refused)], s.OfQueue(e.ask.App.Queue)
		switch {
		case at.After(s.Now):
			s.Timers.SetBy(&s.resumes, at, timers.Due{What: timers.Questions})
		case leaf == nil || s.resumed.Get(of.Slot, of) < s.resumed.Get(leaf.Slot, leaf):
			leaf = of
		}
	}
	return leaf
}

// NodeFreed has refused classes tried again on a node that was freed.
func (s *Refused) NodeFreed(n *ledger.Node) {
	if len(s.list) > 0 {
		s.retryOn(n)
	}
}

// retryOn has the resource manager asked about a node again soon.
func (s *Refused) retryOn(n *ledger.Node) {
	if at := s.regains.Of(n.Slot, n); !*at {
		*at = true
		s.regained = append(s.regained, n)
	}
	s.Timers.SetBy(&s.soon, timers.Later(s.Now, s.last.Add(s.Options.RetryDelay)), timers.Due{What: timers.Freed})
}

// Everywhere notes that a class of members of a gang was refused on all nodes with room. It
// returns when that is to be forgotten. Members stand in no order, so their class is in no
// list, unless others of it are.
func (s *Refused) Everywhere(c *backlog.Class) time.Time {
	r := s.Begin(c)
	r.Finish(s.NodesFreed)
	r.Repeat()
	return r.ForgetBy(s.Now.Add(s.Options.RetryMax))
}

// Renew has all nodes asked about members of a class again if what was said is old.
func (s *Refused) Renew(c *backlog.Class) {
	if c.Refused.IsOld(s.Now) && !c.Unschedulable { // otherwise AskAgain does so
		c.Refused.Again(s.NodesFreed)
	}
}

// AskAgain has everything asked again, whatever was said before.
func (s *Refused) AskAgain() {
	s.Timers.Cancel(&s.soon)
	s.last = s.Now
	s.clean()
	for _, c := range s.list {
		c.Refused.Again(s.NodesFreed)
		s.listed.Drop(c.Slot)
		if ask := c.FirstAsk((*ledger.Request).InOrder); ask != nil {
			s.Dequeue(c, ask)
			s.paused = append(s.paused, pausedAsk{c, ask})
		} else { // its asks are delayed
			s.putBack(c)
		}
	}
	slices.SortStableFunc(s.paused, func(a, b pausedAsk) int { return a.ask.InOrder(b.ask) })
	s.list = nil
	s.takeFreed() // all nodes are asked about
	s.Resume()
}

// clean drops what is requeued from the list, and puts it in order.
func (s *Refused) clean() {
	first := make(map[*backlog.Class]*ledger.Request, len(s.list))
	s.list = slices.DeleteFunc(s.list, func(c *backlog.Class) bool {
		stays := c.Unschedulable && c.Paused == nil
		if stays {
			first[c] = c.FirstAsk(s.ComparePlaces)
		} else if s.listed.Get(c.Slot, c) {
			s.listed.Drop(c.Slot)
		}
		return !stays
	})
	slices.SortFunc(s.list, func(a, b *backlog.Class) int {
		return cmp.Or(s.CompareFirst(first[a], first[b]), strings.Compare(a.Key, b.Key))
	})
}

// CompareFirst orders classes by their first asks, as the queues do. Those that have none to be
// tried now come after all others.
func (s *Refused) CompareFirst(x, y *ledger.Request) int {
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil:
		return -1
	}
	return s.ComparePlaces(x, y)
}

// Retry requeues the classes for which a freed node has room and the resource
// manager's agreement. It asks for so many classes at a time, the first in order, and for others
// after a while: what it refused for one is not asked again before the node is freed once more.
func (s *Refused) Retry() {
	s.clean()
	freed := s.takeFreed()
	s.last, s.tries = s.Now, askedAtOnce
	s.list = slices.DeleteFunc(s.list, func(c *backlog.Class) bool {
		if !s.anyTakes(freed, c) {
			return false
		}
		c.Refused.Repeat()
		s.listed.Drop(c.Slot)
		s.putBack(c)
		return true
	})
	for _, o := range freed {
		if o.short {
			s.retryOn(o.node)
		}
	}
}

// A freedNode is a node that was freed and what is left of its room if the asks that
// are requeued for it are placed there. It is short if that, or a limit on questions,
// kept a class out: then the node is looked at again later.
type freedNode struct {
	node  *ledger.Node
	left  resources.Amounts
	short bool
}

// takeFreed is the list of nodes that were freed since the last time, and empties it.
func (s *Refused) takeFreed() []freedNode {
	freed := make([]freedNode, len(s.regained))
	for i, n := range s.regained {
		if s.regains.Get(n.Slot, n) {
			s.regains.Drop(n.Slot)
		}
		freed[i] = freedNode{node: n, left: n.Free.Clone()}
	}
	s.regained = nil
	return freed
}

// anyTakes reports whether one of the nodes has room for a class and the resource
// manager agrees. A class of which all asks are held back or delayed is taken for one: the nodes are not
// remembered, and it is asked for when one of its asks may be tried.
func (s *Refused) anyTakes(freed []freedNode, c *backlog.Class) bool {
	r := c.FirstAsk((*ledger.Request).InOrder)
	if r == nil {
		return true
	}
	asked := 0
	for i := range freed {
		o := &freed[i]
		if o.node.Gone || !o.node.Schedulable || !c.Amounts.FitsIn(o.node.Free) || c.Refused.Has(o.node) {
			continue
		}
		if !c.Amounts.FitsIn(o.left) || s.tries == 0 || s.Predicates.Calls >= CallsMax || s.Predicates.Wait(api.RepeatedQuestion) > 0 {
			o.short = true
			continue
		}
		asked = 1
		if result, _ := s.Predicates.Check(r, o.node, true); result != Waits {
			o.left.Sub(c.Amounts)
			return true
		}
		c.Refused.Pass(o.node, s.NodesFreed)
	}
	s.tries -= asked
	return false
}
