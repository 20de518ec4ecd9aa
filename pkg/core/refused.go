package core

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// refused is the set of classes that the resource manager refused on every node with
// room. When a node is freed, it is asked about that node again, soon but not too
// often.
type refused struct {
	*backlog
	predicates *predicates
	timer      timers.Timer[due]

	list    []refusedClass // set aside, and others that are so no more
	paused  []refusedClass // whose questions go on later
	nodes   []*node        // freed since the last time, each once
	freed   uint64         // counts how often nodes were freed
	soon    time.Time      // when freed nodes are asked about; zero is not at all
	whole   time.Time      // when everything is asked again; zero is not at all
	resumes time.Time      // when questions go on; zero is not at all
	last    time.Time
}

// A refusedClass is in the list for as long as these refusals are those of the class
// and keep it aside.
type refusedClass struct {
	class    *class
	refusals *refusals
}

func (e refusedClass) isAside() bool { return e.class.refused == e.refusals && e.refusals.aside }

// begin is the refusals of a class, begun if there are none.
func (s *refused) begin(c *class) *refusals {
	if c.refused == nil {
		c.refused = &refusals{started: s.freed}
	}
	return c.refused
}

// add takes a refusal of a class on a node. If the node was freed since the questions
// started, what was said of others before they were freed is forgotten, so that this
// answer counts: questions that are broken off go on where they were.
func (s *refused) add(c *class, n *node, err error) {
	r := s.begin(c)
	if n.freedAt > r.started {
		for other := range s.allNodes {
			if other.freedAt > r.started {
				r.forget(other)
			}
		}
		r.started = s.freed
	}
	r.add(n, err)
}

// setAside takes a class out of the order, since all nodes with room refuse it, until
// it is to be tried again.
func (s *refused) setAside(c *class) {
	r := s.begin(c)
	r.finish()
	s.takeOut(c)
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
	s.takeOut(c)
	s.paused = append(s.paused, refusedClass{c, r})
	if s.resumes.IsZero() || r.resume.Before(s.resumes) {
		s.resumes = r.resume
		s.schedule()
	}
}

func (s *refused) takeOut(c *class) {
	c.refused.aside = true
	s.learn()
	s.settleClass(c)
}

// bringBack lets a class be tried again. Where everything is asked again nothing of
// what was said counts.
func (s *refused) bringBack(c *class, whole bool) {
	r := c.refused
	r.aside, r.started, r.repeated = false, s.freed, true
	if whole {
		r.complete = false
	}
	s.openClass(c)
	s.learn()
	s.settleClass(c)
}

// resume lets the classes be tried again whose questions go on now.
func (s *refused) resume() {
	paused := s.paused
	s.paused, s.resumes = nil, time.Time{}
	for _, e := range paused {
		switch {
		case !e.isAside():
		case e.refusals.resume.After(s.now):
			s.paused = append(s.paused, e)
			if s.resumes.IsZero() || e.refusals.resume.Before(s.resumes) {
				s.resumes = e.refusals.resume
			}
		default:
			e.refusals.aside = false
			s.learn()
			s.settleClass(e.class)
		}
	}
}

// nodeFreed has refused classes tried on a node again that was freed.
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

// retry brings back the classes for which a freed node has room and the resource
// manager's agreement, or, after the longer while, all of them.
func (s *refused) retry(whole bool) {
	s.list = slices.DeleteFunc(s.list, func(e refusedClass) bool { return !e.isAside() })
	slices.SortFunc(s.list, byFirstAsk)
	offers := s.offers()
	s.soon, s.last = time.Time{}, s.now
	if whole {
		s.whole = time.Time{}
	}
	list := s.list
	s.list = nil
	for _, e := range list {
		if whole || s.anyTakes(offers, e.class) {
			s.bringBack(e.class, whole)
		} else {
			s.list = append(s.list, e)
		}
	}
	for _, o := range offers {
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

// An offer is a freed node and what is left of its room if the asks that are brought
// back for it take theirs. It is short if that, or the end of the batch, kept an ask
// away: then the node is looked at again, once it is known what came.
type offer struct {
	node  *node
	left  resources.Amounts
	short bool
}

// offers are the nodes that were freed since the last time.
func (s *refused) offers() []offer {
	offers := make([]offer, len(s.nodes))
	for i, n := range s.nodes {
		n.regained = false
		offers[i] = offer{node: n, left: n.free.Clone()}
	}
	s.nodes = nil
	return offers
}

// anyTakes reports whether one of the nodes has room for a class and the resource
// manager agrees.
func (s *refused) anyTakes(offers []offer, c *class) bool {
	r := c.firstAsk()
	if r == nil {
		return false
	}
	for i := range offers {
		o := &offers[i]
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
