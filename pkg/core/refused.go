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

	list    []refusedClass // the unschedulable classes, and entries that are not current
	paused  []refusedClass // whose questions go on later
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
	r.finish()
	s.dequeue(c)
	s.list = append(s.list, refusedClass{c, r})
	if s.whole.IsZero() {
		s.whole = s.now.Add(s.options.RetryMax)
		s.schedule()
	}
}

// pause takes a class out of the order whose questions go on after a while.
func (s *refused) pause(c *class, wait time.Duration) {
	r := s.begin(c)
	r.resume = s.now.Add(wait)
	s.dequeue(c)
	s.paused = append(s.paused, refusedClass{c, r})
	if s.resumes.IsZero() || r.resume.Before(s.resumes) {
		s.resumes = r.resume
		s.schedule()
	}
}

// dequeue takes a class out of the order.
func (s *refused) dequeue(c *class) {
	c.refused.unschedulable = true
	s.learn()
	s.settleClass(c)
}

// requeue lets a class be tried again. If it is asked about all nodes again, the old
// answers do not hold.
func (s *refused) requeue(c *class, whole bool) {
	r := c.refused
	r.unschedulable, r.started, r.repeated = false, s.freed, true
	if whole {
		r.complete = false
	}
	s.openClass(c)
	s.learn()
	s.settleClass(c)
}

// resume lets those paused classes be tried again whose questions go on now.
func (s *refused) resume() {
	paused := s.paused
	s.paused, s.resumes = nil, time.Time{}
	for _, e := range paused {
		switch {
		case !e.isCurrent():
		case e.refusals.resume.After(s.now):
			s.paused = append(s.paused, e)
			if s.resumes.IsZero() || e.refusals.resume.Before(s.resumes) {
				s.resumes = e.refusals.resume
			}
		default:
			e.refusals.unschedulable = false
			s.learn()
			s.settleClass(e.class)
		}
	}
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
	if isDue(s.resumes, s.now) {
		s.resume()
	}
	if isDue(s.whole, s.now) || isDue(s.soon, s.now) {
		s.retry(isDue(s.whole, s.now))
	}
	s.schedule()
}

// retry requeues the classes for which a freed node has room and to which the resource
// manager agrees there, or, after RetryMax, all of them.
func (s *refused) retry(whole bool) {
	s.list = slices.DeleteFunc(s.list, func(e refusedClass) bool { return !e.isCurrent() })
	slices.SortFunc(s.list, byFirstAsk)
	freed := s.takeFreed()
	s.soon, s.last = time.Time{}, s.now
	if whole {
		s.whole = time.Time{}
	}
	list := s.list
	s.list = nil
	for _, e := range list {
		if whole || s.anyTakes(freed, e.class) {
			s.requeue(e.class, whole)
		} else {
			s.list = append(s.list, e)
		}
	}
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
