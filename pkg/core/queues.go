package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// areFlat reports whether only priority counts between the queues below.
func areFlat(q *ledger.Queue) bool {
	return q.Everywhere(isFlat) && arePlain(q)
}

// configuredKinds says, by kind, whether any queue below has a max or a guarantee of it.
func configuredKinds(q *ledger.Queue) (kinds resources.Amounts) {
	kinds = ownKinds(q)
	for _, child := range q.Children {
		kinds.Raise(configuredKinds(child))
	}
	return kinds
}

// arePlain reports whether a priority is the same seen from any queue below.
func arePlain(q *ledger.Queue) bool {
	return q.Everywhere(isPlain)
}

// Convertible returns an error if a configuration turns a leaf that has
// applications into a parent, or a parent with other queues in it into a leaf:
// Reconfigure would keep such a queue as it is. It changes nothing and is linear in the
// number of queues.
func (p *Partition) Convertible(config api.Config) error {
	return p.Root.Convertible(&config.Root)
}
