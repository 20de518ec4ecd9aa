package core

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// queueFor finds the queue of an application by the rules of placement, and makes it if they
// say so. Without rules it is the one that the application asks for.
func (p *Partition) queueFor(c api.AddApplication) (*ledger.Queue, error) {
	place, err := p.placeInQueue(c)
	switch {
	case err != nil:
		return nil, err
	case place.Path == placement.Recovery:
		return p.RecoveryQueue(), nil
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
	tree := queueTree{p.Root, p.Config.Closed}
	if len(p.Config.Rules) > 0 {
		return placement.Place(p.Config.Rules, request, tree)
	}
	q, err := p.LeafFor(c.Queue)
	switch {
	case c.Forced && err != nil:
		return placement.Placement{Path: placement.Recovery}, nil
	case err != nil:
		return placement.Placement{}, err
	case q.Draining && !c.Forced:
		return placement.Placement{}, fmt.Errorf("queue %s is draining", q.Path)
	case !c.Forced && !tree.MaySubmit(string(q.Path), request.User):
		return placement.Placement{}, fmt.Errorf("user %s may not submit to queue %s", c.User, q.Path)
	}
	return placement.Placement{Path: string(q.Path)}, nil
}

// queueTree is the queues as rules of placement look at them.
type queueTree struct {
	root   *ledger.Queue
	closed bool // access lists count
}

func (t queueTree) find(path string) *ledger.Queue {
	q := t.root
	for _, name := range strings.Split(path, ".")[1:] {
		if q = q.Children[name]; q == nil {
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
	return placement.Queue{Exists: true, Leaf: q.Leaf, Draining: q.Draining}
}

// MaySubmit reports whether a user may use a queue.
func (t queueTree) MaySubmit(path string, user access.User) bool {
	for q := t.find(path); q != nil && t.closed; q = q.Parent {
		if q.Submit.Allows(user) || q.Admin.Allows(user) {
			return true
		}
	}
	return !t.closed
}

// makeQueues finds the leaf queue of a path, and makes what is missing of the path.
func (p *Partition) makeQueues(path string) *ledger.Queue {
	q := p.Root
	names := strings.Split(path, ".")[1:]
	for i, name := range names {
		child := q.Children[name]
		if child == nil {
			child = p.AddQueue(q, name, i == len(names)-1)
			p.noteQueue(child)
			p.Tell(&api.QueueAdded{Queue: child.Path})
		}
		q = child
	}
	return q
}

// setQuota gives a queue that is not configured a quota of its own.
func (p *Partition) setQuota(q *ledger.Queue, quota *api.QueueQuota) {
	if quota == nil || !q.Dynamic || q.Quota.Equal(quota) {
		return
	}
	p.react() // orders are exact before what decides them changes
	guaranteed := q.Guaranteed
	p.SetQuota(q, quota)
	p.noteQueue(q)
	switch {
	case len(q.Applications) == 0:
	case guaranteed.Equal(q.Guaranteed):
		p.Changes.Quota(q)
	default:
		p.reconsider()
		p.Changes.Quota(q)
	}
}

// noteQueue notes what a queue that is not configured changes of what is known of all
// queues: it is exact if it was so before. The first queue that changes something has all
// that waits decided anew.
func (p *Partition) noteQueue(q *ledger.Queue) {
	plain := p.Plain && isPlain(q)
	flat := p.costs.Flat && plain && isFlat(q)
	configured := p.costs.Configured.Clone()
	configured.Raise(ownKinds(q))
	if plain == p.Plain && flat == p.costs.Flat && configured.Equal(p.costs.Configured) {
		return
	}
	p.react()
	p.SeePriorities(plain)
	p.costs.Configure(flat, configured)
	p.reconsider()
}

// ownKinds says, by kind, whether the queue has a max or a guarantee of it.
func ownKinds(q *ledger.Queue) (kinds resources.Amounts) {
	for i := range max(len(q.Max), len(q.Guaranteed)) {
		if kind := resources.Kind(i); q.Max.Of(kind) != resources.Unlimited || q.Guaranteed.Of(kind) > 0 {
			kinds.Set(kind, 1)
		}
	}
	return kinds
}

// isFlat reports whether nothing but priority counts for what preemption may do here, and
// isPlain whether a priority is the same seen from outside.
func isFlat(q *ledger.Queue) bool {
	return q.Guaranteed.IsZero() && q.Properties.PreemptionPolicy == api.PreemptionDefault
}

func isPlain(q *ledger.Queue) bool {
	return !q.Properties.PriorityFence && q.Properties.PriorityOffset == 0
}
