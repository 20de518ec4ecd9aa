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
	paused  []pausedAsk    // whose questions go on later, in order, and others
	held    [2]time.Time   // until when those of asks go on, first and repeated ones
	turn    uint64         // counts how often questions went on
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

// A pausedAsk is the first ask of a class whose questions go on later.
type pausedAsk struct {
	refusedClass
	ask  *request
	leaf *queue
}

// kind is the place in refused.held.
func (r *refusals) kind() int {
	if r.repeated {
		return 1
	}
	return 0
}

// begin is the refusals of a class, begun if there are none.
func (s *refused) begin(c *class) *refusals {
	if c.refused == nil {
		c.refused = &refusals{started: s.freed}
	}
	return c.refused
}

// setAside takes a class out of the order, since all nodes with room refuse it, until
// it is to be tried again.
func (s *refused) setAside(c *class) {
	r := s.begin(c)
	r.finish(s.freed)
	s.takeOut(c)
	s.list = append(s.list, refusedClass{c, r})
	if s.whole.IsZero() {
		s.whole = s.now.Add(s.options.RetryMax)
		s.schedule()
	}
}

// pause takes the class of an ask out of the order whose questions go on after a while,
// and with them all of their kind.
func (s *refused) pause(ask *request, wait time.Duration) {
	c := ask.class
	r := s.begin(c)
	s.takeOut(c)
	place, _ := slices.BinarySearchFunc(s.paused, ask, func(e pausedAsk, r *request) int { return inOrder(e.ask, r) })
	s.paused = slices.Insert(s.paused, place, pausedAsk{refusedClass{c, r}, ask, ask.application.queue})
	at := s.now.Add(wait)
	s.held[r.kind()] = at
	if s.resumes.IsZero() || at.Before(s.resumes) {
		s.resumes = at
	}
	s.schedule()
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

// resume lets the first classes of a leaf queue be tried again, if their questions may go
// on now, and those of another in the next batch. They are few, so that not many more are
// tried than can ask something, and enough that a look at all that wait is worth it.
func (s *refused) resume() {
	leaf := s.nextLeaf()
	if leaf == nil {
		return
	}
	s.turn++
	leaf.resumed = s.turn
	left := max(resumedAtOnce, len(s.paused)/resumedPart)
	kept := s.paused[:0]
	for _, e := range s.paused {
		switch due := !s.held[e.refusals.kind()].After(s.now); {
		case !due || left == 0 || e.leaf != leaf:
			if due {
				s.resumes = s.now.Add(time.Nanosecond)
			}
			kept = append(kept, e)
		default:
			left--
			e.refusals.aside = false
			s.settleClass(e.class)
		}
	}
	s.learn()
	clear(s.paused[len(kept):])
	s.paused = kept
}

// How many classes are tried again at once: so many, or one in so many of those that
// wait.
const resumedAtOnce, resumedPart = 16, 64

// nextLeaf is the leaf queue whose turn it is, nil if questions may go on in none. It sets
// when they may. Classes that wait no longer are dropped.
func (s *refused) nextLeaf() (leaf *queue) {
	s.resumes = time.Time{}
	s.paused = slices.DeleteFunc(s.paused, func(e pausedAsk) bool { return !e.isAside() })
	for _, e := range s.paused {
		at := s.held[e.refusals.kind()]
		switch {
		case at.After(s.now):
			if s.resumes.IsZero() || at.Before(s.resumes) {
				s.resumes = at
			}
		case leaf == nil || e.leaf.resumed < leaf.resumed:
			leaf = e.leaf
		}
	}
	return leaf
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
