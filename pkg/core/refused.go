package core

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// refused is the set of classes that the resource manager refused on every node with
// room. When a node is freed, it is asked about that node again, after RetryDelay at
// the earliest.
type refused struct {
	*backlog
	predicates *predicates
	timer      timers.Timer[due]

	list    []refusedClass // unschedulable, and others that were requeued
	paused  []pausedAsk    // whose questions go on later, and others
	held    [2]time.Time   // until when those of asks go on, first and repeated ones
	turn    uint64         // counts the asks whose questions went on
	nodes   []*node        // freed since the last time, each once
	freed   uint64         // counts how often any node was freed
	soon    time.Time      // when freed nodes are asked about; zero is not at all
	whole   time.Time      // when everything is asked again; zero is not at all
	resumes time.Time      // when questions go on; zero is not at all
	last    time.Time      // when freed nodes were asked about last
}

// A refusedClass is an entry of a list. It is current as long as these refusals are
// those of the class and keep it out of the order.
type refusedClass struct {
	class    *class
	refusals *refusals
}

func (e refusedClass) isCurrent() bool {
	return e.class.refused == e.refusals && e.refusals.unschedulable
}

// A pausedAsk is the first ask of a class whose questions go on later.
type pausedAsk struct {
	refusedClass
	ask *request
}

// kind is the place in refused.held.
func (r *refusals) kind() int {
	if r.repeated {
		return 1
	}
	return 0
}

// before says which of two asks goes on first: leaf queues take turns.
func (a pausedAsk) before(b pausedAsk) bool {
	x, y := a.ask.application.queue, b.ask.application.queue
	if x != y && x.resumed != y.resumed {
		return x.resumed < y.resumed
	}
	return inOrder(a.ask, b.ask) < 0
}

// begin is the refusals of a class, begun if there are none.
func (s *refused) begin(c *class) *refusals {
	if c.refused == nil {
		c.refused = &refusals{started: s.freed}
	}
	return c.refused
}

// markUnschedulable takes a class out of the order, since it is refused on all nodes
// with room, until it is to be tried again.
func (s *refused) markUnschedulable(c *class) {
	r := s.begin(c)
	r.finish(s.freed)
	s.dequeue(c)
	s.list = append(s.list, refusedClass{c, r})
	if s.whole.IsZero() {
		s.whole = s.now.Add(s.options.RetryMax)
		s.schedule()
	}
}

// pause takes the class of an ask out of the order whose questions go on after a while,
// and with it holds all questions of their kind.
func (s *refused) pause(ask *request, wait time.Duration) {
	c := ask.class
	r := s.begin(c)
	s.dequeue(c)
	s.paused = append(s.paused, pausedAsk{refusedClass{c, r}, ask})
	at := s.now.Add(wait)
	s.held[r.kind()] = at
	if s.resumes.IsZero() || at.Before(s.resumes) {
		s.resumes = at
	}
	s.schedule()
}

// dequeue takes a class out of the order.
func (s *refused) dequeue(c *class) {
	c.refused.unschedulable = true
	s.learn()
	s.settleClass(c)
}

// requeue lets a class be tried again on the nodes that were freed.
func (s *refused) requeue(c *class) {
	r := c.refused
	r.unschedulable, r.started, r.repeated = false, s.freed, true
	s.openClass(c)
	s.learn()
	s.settleClass(c)
}

// resume lets the class be tried again whose questions go on first, if they may now, and
// the next one in the next batch unless the first is paused again: there are not more
// tries than can ask something, however many wait. Where questions are not held back,
// all go on.
func (s *refused) resume() {
	s.resumes = time.Time{}
	first := s.firstPaused()
	switch {
	case s.options.Pace == nil:
		for _, e := range s.paused {
			s.goOn(e)
		}
		s.paused = nil
	case first >= 0:
		e := s.paused[first]
		s.paused = slices.Delete(s.paused, first, first+1)
		s.goOn(e)
	}
	s.resumes = s.nextResume()
}

// goOn lets the class of a paused ask be tried again.
func (s *refused) goOn(e pausedAsk) {
	s.turn++
	e.ask.application.queue.resumed = s.turn
	e.refusals.unschedulable = false
	s.openClass(e.class)
	s.learn()
	s.settleClass(e.class)
}

// firstPaused is the place of the ask whose questions go on first, of those that may
// now; less than zero if there is none. It drops those that are not paused any more.
func (s *refused) firstPaused() int {
	s.paused = slices.DeleteFunc(s.paused, func(e pausedAsk) bool { return !e.isCurrent() })
	first := -1
	for i, e := range s.paused {
		if !s.held[e.refusals.kind()].After(s.now) && (first < 0 || e.before(s.paused[first])) {
			first = i
		}
	}
	return first
}

// nextResume is when questions go on of those that are still paused: in the next
// batch, if they may now.
func (s *refused) nextResume() (next time.Time) {
	for _, e := range s.paused {
		at := later(s.held[e.refusals.kind()], s.now.Add(time.Nanosecond))
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// nodeFreed has refused classes tried again on a node that was freed.
func (s *refused) nodeFreed(n *node) {
	s.freed++
	n.freedAt = s.freed
	if len(s.list) > 0 {
		s.retryOn(n)
	}
}

// retryOn has the resource manager asked about a node again soon.
func (s *refused) retryOn(n *node) {
	if !n.regained {
		n.regained = true
		s.nodes = append(s.nodes, n)
	}
	if s.soon.IsZero() {
		s.soon = later(s.now, s.last.Add(s.options.RetryDelay))
		s.schedule()
	}
}

// schedule sets the timer to the first moment at which there is something to do.
func (s *refused) schedule() {
	var first time.Time
	for _, at := range [...]time.Time{s.soon, s.whole, s.resumes} {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		s.timers.Cancel(&s.timer)
		return
	}
	s.timers.Set(&s.timer, first, due{what: dueRefused})
}

// wake does what has become due.
func (s *refused) wake() {
	switch {
	case isDue(s.whole, s.now):
		s.askAgain()
	case isDue(s.soon, s.now):
		s.retry()
	}
	if isDue(s.resumes, s.now) {
		s.resume()
	}
	s.schedule()
}

// askAgain has everything asked again, whatever was said before.
func (s *refused) askAgain() {
	s.whole, s.soon, s.last, s.resumes = time.Time{}, time.Time{}, s.now, s.now
	s.clean()
	for _, e := range s.list {
		r := e.refusals
		r.complete, r.started, r.repeated = false, s.freed, true
		if ask := e.class.firstAsk(); ask != nil {
			s.paused = append(s.paused, pausedAsk{e, ask})
		}
	}
	s.list = nil
	s.takeFreed() // all nodes are asked about
}

// clean drops what is requeued from the list, and puts it in order.
func (s *refused) clean() {
	s.list = slices.DeleteFunc(s.list, func(e refusedClass) bool { return !e.isCurrent() })
	slices.SortFunc(s.list, byFirstAsk)
}

// retry requeues the classes for which a freed node has room and the resource
// manager's agreement.
func (s *refused) retry() {
	s.clean()
	freed := s.takeFreed()
	s.soon, s.last = time.Time{}, s.now
	s.list = slices.DeleteFunc(s.list, func(e refusedClass) bool {
		if !s.anyTakes(freed, e.class) {
			return false
		}
		s.requeue(e.class)
		return true
	})
	for _, o := range freed {
		if o.short {
			s.retryOn(o.node)
		}
	}
}

// byFirstAsk orders refused classes by their first asks.
func byFirstAsk(a, b refusedClass) int {
	x, y := a.class.firstAsk(), b.class.firstAsk()
	if x == nil || y == nil {
		return strings.Compare(a.class.key, b.class.key)
	}
	return inOrder(x, y)
}

// A freedNode is a node that was freed and what is left of its room if the asks that
// are requeued for it are placed there. It is short if that, or a limit on questions,
// kept a class out: then the node is looked at again later.
type freedNode struct {
	node  *node
	left  resources.Amounts
	short bool
}

// takeFreed is the list of nodes that were freed since the last time, and empties it.
func (s *refused) takeFreed() []freedNode {
	freed := make([]freedNode, len(s.nodes))
	for i, n := range s.nodes {
		n.regained = false
		freed[i] = freedNode{node: n, left: n.free.Clone()}
	}
	s.nodes = nil
	return freed
}

// anyTakes reports whether one of the nodes has room for a class and the resource
// manager agrees.
func (s *refused) anyTakes(freed []freedNode, c *class) bool {
	r := c.firstAsk()
	if r == nil {
		return false
	}
	for i := range freed {
		o := &freed[i]
		if !o.node.links.In() || !c.amounts.FitsIn(o.node.free) {
			continue
		}
		if !c.amounts.FitsIn(o.left) || s.predicates.calls >= callsMax || s.predicates.wait(RepeatedQuestion) > 0 {
			o.short = true
			continue
		}
		if result, _ := s.predicates.check(r, o.node, true); result != waits {
			o.left.Sub(c.amounts)
			return true
		}
	}
	return false
}
