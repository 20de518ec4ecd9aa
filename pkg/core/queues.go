package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// recoveryQueue is the recovery queue, made if there is none.
func (p *Partition) recoveryQueue() *queue {
	q := p.root.children[api.RecoveryName]
	if q == nil {
		q = p.newQueue(p.root, &api.QueueConfig{Name: api.RecoveryName})
		q.leaf, q.draining, q.dynamic = true, true, true
		p.root.children[api.RecoveryName] = q
		p.unview(p.root)
		p.tell(&api.QueueAdded{Queue: q.path})
	}
	return q
}

// areFlat reports whether only priority counts between the queues below.
func areFlat(q *queue) bool {
	return q.everywhere(isFlat) && arePlain(q)
}

// configuredKinds says, by kind, whether any queue below has a max or a guarantee of it.
func configuredKinds(q *queue) (kinds resources.Amounts) {
	kinds = ownKinds(q)
	for _, child := range q.children {
		kinds.Raise(configuredKinds(child))
	}
	return kinds
}

// arePlain reports whether a priority is the same seen from any queue below.
func arePlain(q *queue) bool {
	return q.everywhere(isPlain)
}

// Convertible returns an error if a configuration turns a leaf that has
// applications into a parent, or a parent with other queues in it into a leaf:
// Reconfigure would keep such a queue as it is. It changes nothing and is linear in the
// number of queues.
func (p *Partition) Convertible(config api.Config) error {
	return p.root.convertible(&config.Root)
}
