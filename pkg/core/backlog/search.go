package backlog

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A search finds the first ask in order that may be tried: one that has quota and
// may fit a node, or one that room may be made for. It changes nothing. It skips by
// summaries, so it takes logarithmic time where those are exact. They are exact for one
// resource kind, and a lower bound for several.
type search struct {
	*Backlog
	room   resources.Amounts // the most that is free, kind by kind, where parked classes may fit
	isRoom bool
	// only and above restrict the search to asks above a priority, as the root sees
	// it, that fit on one node.
	only  *ledger.Node
	above int32
	Skips
}

// Skips are what is passed over for the rest of a batch: leaves whose asks wait for answers
// of the resource manager, and all attempts if enough was worked out for them.
type Skips struct {
	Passed map[*ledger.Queue]bool
	Busy   bool
}

// PassOver leaves a leaf out.
func (s *Skips) PassOver(leaf *ledger.Queue) {
	if s.Passed == nil {
		s.Passed = map[*ledger.Queue]bool{}
	}
	s.Passed[leaf] = true
}

// MakeNoRoom leaves attempts out.
func (s *Skips) MakeNoRoom() { s.Busy = true }

// Any reports whether anything is passed over.
func (s *Skips) Any() bool { return s.Busy || len(s.Passed) > 0 }

// Next is the first ask in order that may be tried; nil if there is none.
func (b *Backlog) Next(without Skips) *ledger.Request {
	s := &b.searching
	*s = search{Backlog: b, Skips: without}
	s.room, s.isRoom = b.Rooms.Most()
	r, _ := s.inQueue(b.OfQueue(b.Root), &b.boundless)
	return r
}

// NextAbove is the first ask in order above a priority that fits on a node.
func (b *Backlog) NextAbove(n *ledger.Node, above int32) *ledger.Request {
	s := &b.searching
	*s = search{Backlog: b, room: n.Free, isRoom: true, only: n, above: above}
	r, _ := s.inQueue(b.OfQueue(b.Root), &b.boundless)
	return r
}

// mayHold reports whether any ask of a part of the backlog may be tried, as far as
// its summary tells.
func (s *search) mayHold(part *Summary, left *headroom) bool {
	if part.Top == api.PriorityNone {
		return false
	}
	if part.attempts && s.only == nil && !s.Busy && left.allows(part.wanted) {
		return true
	}
	if left.holds(part.Open) && (s.only == nil || part.Open.FitsIn(s.room)) {
		return true
	}
	if part.untried && s.only == nil {
		return true
	}
	if !s.isRoom {
		return false
	}
	return left.holds(part.parked) && part.parked.FitsIn(s.room) ||
		part.nominated != nil && part.nominated.FitsIn(s.room)
}

// inQueue searches a queue, and returns the priority of the ask as the queue sees it.
// Left is what is left of the quotas above it.
func (s *search) inQueue(q *Queue, left *headroom) (*ledger.Request, int32) {
	left = q.headroomWithin(left)
	if !q.Leaf {
		return s.inQueues(q, left)
	}
	if s.Passed[q.Queue] {
		return nil, 0
	}
	var r *ledger.Request
	if alone := q.alone(); alone != nil {
		r = s.inApplications(&alone.Apps, left)
	} else {
		r = s.inLines(q.Lines.tree.Root(), left, nil)
	}
	if len(q.active) > 0 && s.only == nil && !s.Busy {
		r = s.earlier(r, s.firstAttempt(q))
	}
	if r == nil {
		return nil, 0
	}
	return r, r.Priority
}

// inQueues searches the queues below a parent. Mostly the first one in which there is
// anything to try has it because of its highest ask, and then it is the best.
func (s *search) inQueues(q *Queue, left *headroom) (*ledger.Request, int32) {
	first, r, priority := s.firstQueue(q.Queues.Root(), left)
	if r == nil || priority == first.place.priority {
		return r, priority
	}
	best := choice[*Queue]{ask: r, item: first, priority: priority, run: first.place.priority}
	findBest(s, q.Queues.Root(), left, &best)
	return best.ask, best.priority
}

func (s *search) firstQueue(top *Queue, left *headroom) (*Queue, *ledger.Request, int32) {
	if top == nil {
		return nil, nil, 0
	}
	s.Work.Queues++
	if !s.mayHold(&top.below, left) {
		return nil, nil, 0
	}
	if q, r, priority := s.firstQueue(top.links.Left, left); r != nil {
		return q, r, priority
	}
	if s.mayHold(&top.Own, left) {
		if r, priority := top.search(s, left); r != nil {
			return top, r, priority
		}
	}
	return s.firstQueue(top.links.Right, left)
}

// inApplications searches applications of a leaf in the same way.
func (s *search) inApplications(apps *order.Tree[*Application], left *headroom) *ledger.Request {
	first, r := s.firstApplication(apps.Root(), left)
	if r == nil || r.Priority == first.place.priority {
		return r
	}
	best := choice[*Application]{ask: r, item: first, priority: r.Priority, run: first.place.priority}
	findBest(s, apps.Root(), left, &best)
	return best.ask
}

func (s *search) firstApplication(top *Application, left *headroom) (*Application, *ledger.Request) {
	if top == nil {
		return nil, nil
	}
	s.Work.Applications++
	if !s.mayHold(&top.below, left) {
		return nil, nil
	}
	if app, r := s.firstApplication(top.links.Left, left); r != nil {
		return app, r
	}
	if s.mayHold(&top.own, left) {
		if r, _ := top.search(s, left); r != nil {
			return top, r
		}
	}
	return s.firstApplication(top.links.Right, left)
}

// inLines is the first ask in the order of a leaf of one that was found and of those in a part of
// its lines.
func (s *search) inLines(top *line, left *headroom, best *ledger.Request) *ledger.Request {
	if top == nil || !s.mayHold(&top.below, left) {
		return best
	}
	s.Work.Applications++
	best = s.inLines(top.links.Left, left, best)
	if !s.mayPrecede(top, best) {
		return best
	}
	if s.mayHold(&top.own, left) {
		best = s.inLine(top, top.headroomWithin(left), best)
	}
	return s.inLines(top.links.Right, left, best)
}

// inLine is the same with what stands in a line. One that is found to be held back is to be blocked.
func (s *search) inLine(l *line, left *headroom, best *ledger.Request) *ledger.Request {
	if l.holdsBack(&l.own) {
		s.stale = append(s.stale, l)
		return best
	}
	best = s.inLines(l.lines.Root(), left, best)
	switch held := l.blockerWithin(left); {
	case held == nil:
		return s.earlier(best, s.inApplications(&l.Apps, left))
	case l.in == nil || l.in.user != held:
		s.stale = append(s.stale, l)
	}
	return best
}

// blockerWithin is the blocker of a line as it stands, of which is known what is left of its limits.
func (l *line) blockerWithin(left *headroom) *ledger.Account {
	if !l.uncounted && left.surelyAllows(l.own.Open) {
		return nil
	}
	return l.blocker(&l.own)
}

func (s *search) inGroups(top *AskGroup, left *headroom) *ledger.Request {
	if top == nil {
		return nil
	}
	s.Work.Asks++
	if !s.mayHold(&top.below, left) {
		return nil
	}
	return s.amongGroups(top, left)
}

// amongGroups searches groups of which the summary lets the search pass.
func (s *search) amongGroups(top *AskGroup, left *headroom) *ledger.Request {
	if r := s.inGroups(top.links.Left, left); r != nil {
		return r
	}
	if s.mayHold(&top.own, left) && s.mayTry(top, left) {
		return top.First()
	}
	return s.inGroups(top.links.Right, left)
}

// mayTry reports whether the first ask of a group, whose summary lets it pass, may fit
// a node as far as is known, or room may be made for it.
func (s *search) mayTry(g *AskGroup, left *headroom) bool {
	c := g.Class
	if g.Application.isBound() && !left.surelyAllows(&c.Amounts) && g.First().HeldBack() != nil {
		return false
	}
	if s.only != nil {
		return c.Importance > s.above && s.only.Schedulable && s.only.HasRoom(c.Amounts, c.Importance) &&
			(!s.keepsQuota(c) || g.First().WithoutRoom() == nil)
	}
	if g.own.attempts && !s.Busy {
		return true
	}
	return (!c.Parked || s.Rooms.Fit(c)) && (!s.keepsQuota(c) || g.First().WithoutRoom() == nil)
}

// keepsQuota reports whether quota is kept in a way that summaries do not tell exactly: for
// asks of the class, or for others.
func (s *search) keepsQuota(c *Class) bool { return c.Nominated || len(s.Root.Kept) > 0 }

// firstAttempt is the first ask in the order of a leaf that room may be made for, of
// the classes with too many groups to mark them.
func (s *search) firstAttempt(q *Queue) (first *ledger.Request) {
	for _, leaf := range q.active {
		for _, g := range leaf.Groups {
			s.Work.Asks++
			if !g.links.In() || !g.Application.links.In() {
				continue
			}
			if r := g.First(); s.earlier(first, r) == r && (!g.Application.isBound() || r.HeldBack() == nil) {
				first = r
			}
		}
	}
	return first
}

// earlier is the one of two asks of a leaf that comes first in order; either may be
// nil.
func (b *Backlog) earlier(x, y *ledger.Request) *ledger.Request {
	switch {
	case x == nil:
		return y
	case y == nil, x == y:
		return x
	}
	from, other := b.GroupOf(x), b.GroupOf(y)
	if from.Application == other.Application {
		if from.Before(other) {
			return x
		}
		return y
	}
	if from.Application.compare(other.Application, cmp.Compare(y.Priority, x.Priority)) < 0 {
		return x
	}
	return y
}

// mayPrecede reports whether an application of a line may come before an ask that stands in the
// order of the same leaf. The first one comes before none, with whichever of its asks.
func (b *Backlog) mayPrecede(l *line, r *ledger.Request) bool {
	if r == nil {
		return true
	}
	place := linePlace{b.GroupOf(r).Application.place, r.App.ID}
	return l.Leaf.compareFirsts(l.place, place, cmp.Compare(r.Priority, l.place.priority)) < 0
}

// A queue and an application are ranked: what follows is how a choice looks below them.

func (q *Queue) count(w *api.Work) { w.Queues++ }

func (q *Queue) search(s *search, left *headroom) (*ledger.Request, int32) {
	r, priority := s.inQueue(q, left)
	return r, q.Properties.SeenFromAbove(priority)
}

func (a *Application) count(w *api.Work) { w.Applications++ }

func (a *Application) search(s *search, left *headroom) (*ledger.Request, int32) {
	s.Work.Asks++
	r := s.amongGroups(a.Queued.Root(), left) // its summary is that of the application
	if r == nil {
		return nil, 0
	}
	return r, r.Priority
}
