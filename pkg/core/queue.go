package core

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A queue holds applications, if it is a leaf, or other queues. It stands in
// the order of its parent while something below it waits.
//
//	backlog = what waits below, less the shapes that are over its quota
//	over    = the shapes that waited here and do not fit what is left of max
type queue struct {
	account
	path       QueuePath
	name       string
	parent     *queue
	leaf       bool
	draining   bool
	properties QueueProperties

	children     map[string]*queue
	applications map[ApplicationID]*application

	links   order.Links[*queue]
	place   queuePlace
	backlog backlog
	below   backlog // of the subtree of the parent's order
	queues  order.Tree[*queue]
	apps    order.Tree[*application]

	fairMax   resources.Limits // what a share is measured against where nothing is guaranteed
	over      map[*shape]bool
	overSlots slots
	// hunts are the shapes that wait here and want room to be made, hunting the
	// slots of those of them for which that was not tried in vain.
	hunts   map[*shape]*chase
	hunting slots
	learnt  *uint64 // counts changes of over and hunts, with those of shapes
	// bound are asks for one certain node that wait for quota here.
	bound []*request
	// hinted is what the resource manager was told of that waits for nodes.
	hinted resources.Amounts

	running tally // allocations of a leaf
	// smallest is, for each kind, what every allocation of a leaf holds at least.
	smallest resources.Amounts
	excess   excess

	view *QueueView
}

// queuePlace is what decides the order of the queues of one parent.
type queuePlace struct {
	priority int32
	share    resources.Share
}

func newQueue(parent *queue, config *QueueConfig) *queue {
	q := &queue{
		parent:       parent,
		name:         config.Name,
		path:         QueuePath(config.Name),
		children:     map[string]*queue{},
		applications: map[ApplicationID]*application{},
		backlog:      emptyBacklog,
		over:         map[*shape]bool{},
		hunts:        map[*shape]*chase{},
	}
	if parent != nil {
		q.account.parent = &parent.account
		q.path = parent.path + "." + QueuePath(config.Name)
	}
	return q
}

// Before orders by priority, then share, or the other way round where the
// parent ignores priority; then by name.
func (q *queue) Before(other *queue) bool {
	priority := cmp.Compare(other.place.priority, q.place.priority)
	share := q.place.share.Compare(other.place.share)
	if q.parent.properties.IgnorePriority {
		priority, share = share, priority
	}
	return cmp.Or(priority, share, strings.Compare(q.name, other.name)) < 0
}

// Links are the place in the order of the parent.
func (q *queue) Links() *order.Links[*queue] { return &q.links }

// Summarise works out the backlog of a subtree of the parent's order.
func (q *queue) Summarise() bool {
	return q.below.become(q.backlog, q.links.Left.subtree(), q.links.Right.subtree())
}

func (q *queue) subtree() *backlog {
	if q == nil {
		return nil
	}
	return &q.below
}

// waits reports whether anything below waits.
func (q *queue) waits() bool { return q.queues.Len() > 0 || q.apps.Len() > 0 }

// gather works out the backlog from what is below.
func (q *queue) gather() backlog {
	sum := emptyBacklog
	if top := q.queues.Root(); top != nil {
		sum = top.below
	}
	if top := q.apps.Root(); top != nil {
		sum = top.below
		sum.hunts = sum.shapes.meets(&q.hunting)
	}
	sum.shapes.drop(&q.overSlots)
	sum.top = q.properties.seenFromAbove(sum.top)
	return sum
}

// runs notes that an allocation runs in a leaf, and ends that it does not any
// more. What all hold at least may be more than is noted after one has ended.
func (q *queue) runs(r *request) {
	if len(q.running) == 0 {
		q.smallest = append(q.smallest[:0], r.Amounts...)
	}
	for i, least := range q.smallest {
		q.smallest[i] = min(least, r.Amounts.Of(resources.Kind(i)))
	}
	q.running.add(r.Priority)
}

func (q *queue) ends(r *request) { q.running.remove(r.Priority) }

// settle brings the backlog and the place in the parent's order up to date with
// what is below and what is used. It reports whether the parent sees a change.
func (q *queue) settle() bool {
	sum := q.gather()
	if q.parent == nil {
		q.backlog = sum
		return false
	}
	place := queuePlace{priority: sum.top, share: q.share()}
	return q.parent.queues.Settle(q, q.waits(), place != q.place, sum != q.backlog, func() {
		q.backlog, q.place = sum, place
	})
}

// settleUp settles a queue and those above it, whose use has changed.
func (q *queue) settleUp() {
	for ; q != nil; q = q.parent {
		q.view = nil
		q.settle()
	}
}

// share is how much of what is due to the queue it uses.
func (q *queue) share() resources.Share {
	return resources.DominantShare(q.used, q.guaranteed, q.fairMax)
}

// seenFromAbove is a priority as the parent of a queue sees it.
func (p *QueueProperties) seenFromAbove(priority int32) int32 {
	switch {
	case priority == PriorityNone:
		return PriorityNone
	case p.PriorityFence:
		return p.PriorityOffset
	}
	sum := int64(priority) + int64(p.PriorityOffset)
	return int32(min(max(sum, math.MinInt32+1), math.MaxInt32))
}

// exclude remembers that a shape does not fit what is left of the quota.
func (q *queue) exclude(s *shape) {
	if q.over[s] {
		return
	}
	*q.learnt++
	q.over[s] = true
	s.overIn = append(s.overIn, q)
	if !s.shared() {
		q.overSlots.set(s.slot)
	}
}

// forgive forgets that a shape did not fit.
func (q *queue) forgive(s *shape) {
	*q.learnt++
	delete(q.over, s)
	if !s.shared() {
		q.overSlots.clear(s.slot)
	}
}

// readmit lets the shapes be tried again that fit what is left of the quota, or
// may, since a nominated ask has its part of it already.
func (q *queue) readmit() {
	for s := range q.over {
		if q.hasRoom(s.amounts) || !s.hunts && q.keepsRoom(s.amounts) {
			q.forgive(s)
			s.overIn = slices.DeleteFunc(s.overIn, func(other *queue) bool { return other == q })
			s.rouse()
		}
	}
}
