package core

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// queueFor finds the queue of an application by the rules of placement, and makes it if they
// say so. Without rules it is the one that the application asks for.
func (p *Partition) queueFor(c api.AddApplication) (*queue, error) {
	place, err := p.placeInQueue(c)
	switch {
	case err != nil:
		return nil, err
	case place.Path == placement.Recovery:
		return p.recoveryQueue(), nil
	}
	q := p.makeQueues(place.Path)
	p.setQuota(q, c.Quota)
	return q, nil
}

// placeInQueue finds the path of the queue of an application.
func (p *Partition) placeInQueue(c api.AddApplication) (placement.Placement, error) {
	request := placement.Request{
		Queue: string(c.Queue), User: access.User{Name: c.User, Groups: c.Groups}, Tags: c.Tags, Forced: c.Forced,
	}
	tree := queueTree{p.root, p.config.Closed}
	if len(p.config.Rules) > 0 {
		return placement.Place(p.config.Rules, request, tree)
	}
	q, err := p.leafFor(c.Queue)
	switch {
	case c.Forced && err != nil:
		return placement.Placement{Path: placement.Recovery}, nil
	case err != nil:
		return placement.Placement{}, err
	case q.draining && !c.Forced:
		return placement.Placement{}, fmt.Errorf("queue %s is draining", q.path)
	case !c.Forced && !tree.MaySubmit(string(q.path), request.User):
		return placement.Placement{}, fmt.Errorf("user %s may not submit to queue %s", c.User, q.path)
	}
	return placement.Placement{Path: string(q.path)}, nil
}

// queueTree is the queues as rules of placement look at them.
type queueTree struct {
	root   *queue
	closed bool // access lists count
}

func (t queueTree) find(path string) *queue {
	q := t.root
	for _, name := range strings.Split(path, ".")[1:] {
		if q = q.children[name]; q == nil {
			return nil
		}
	}
	return q
}

// Queue looks a queue up.
func (t queueTree) Queue(path string) placement.Queue {
	q := t.find(path)
	if q == nil {
		return placement.Queue{}
	}
	return placement.Queue{Exists: true, Leaf: q.leaf, Draining: q.draining}
}

// MaySubmit reports whether a user may use a queue.
func (t queueTree) MaySubmit(path string, user access.User) bool {
	for q := t.find(path); q != nil && t.closed; q = q.parent {
		if q.submit.Allows(user) || q.admin.Allows(user) {
			return true
		}
	}
	return !t.closed
}

// makeQueues finds the leaf queue of a path, and makes what is missing of the path.
func (p *Partition) makeQueues(path string) *queue {
	q := p.root
	names := strings.Split(path, ".")[1:]
	for i, name := range names {
		child := q.children[name]
		if child == nil {
			child = p.newQueue(q, &api.QueueConfig{Name: name})
			child.leaf = i == len(names)-1
			q.children[name] = child
			child.followTemplate()
			p.unview(q)
			p.noteQueue(child)
			p.tell(&api.QueueAdded{Queue: child.path})
		}
		q = child
	}
	return q
}

// setQuota gives a queue that is not configured a quota of its own.
func (p *Partition) setQuota(q *queue, quota *api.QueueQuota) {
	if quota == nil || !q.dynamic || q.quota.Equal(quota) {
		return
	}
	p.react() // orders are exact before what decides them changes
	guaranteed := q.guaranteed
	q.quota = quota
	q.followTemplate()
	p.changes.free(&q.account)
	p.unview(q)
	p.noteQueue(q)
	switch {
	case len(q.applications) == 0:
	case guaranteed.Equal(q.guaranteed):
		p.changes.quota(q)
	default:
		p.reconsider()
		p.changes.quota(q)
	}
}

// noteQueue notes what a queue that is not configured changes of what is known of all
// queues: it is exact if it was so before. The first queue that changes something has all
// that waits decided anew.
func (p *Partition) noteQueue(q *queue) {
	p.capped = p.capped || q.applicationsMax > 0
	plain := p.plain && isPlain(q)
	flat := p.costs.flat && plain && isFlat(q)
	configured := p.costs.configured.Clone()
	configured.Raise(ownKinds(q))
	if plain == p.plain && flat == p.costs.flat && configured.Equal(p.costs.configured) {
		return
	}
	p.react()
	p.plain, p.costs.flat, p.costs.configured = plain, flat, configured
	p.reconsider()
}

// ownKinds says, by kind, whether the queue has a max or a guarantee of it.
func ownKinds(q *queue) (kinds resources.Amounts) {
	for i := range max(len(q.max), len(q.guaranteed)) {
		if kind := resources.Kind(i); q.max.Of(kind) != resources.Unlimited || q.guaranteed.Of(kind) > 0 {
			kinds.Set(kind, 1)
		}
	}
	return kinds
}

// isFlat reports whether nothing but priority counts for what preemption may do here, and
// isPlain whether a priority is the same seen from outside.
func isFlat(q *queue) bool {
	return q.guaranteed.IsZero() && q.properties.PreemptionPolicy == api.PreemptionDefault
}

func isPlain(q *queue) bool {
	return !q.properties.PriorityFence && q.properties.PriorityOffset == 0
}
