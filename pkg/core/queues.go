package core

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// recoveryQueue is the recovery queue, made if there is none.
func (p *Partition) recoveryQueue() *queue {
	q := p.root.children[api.RecoveryName]
	if q == nil {
		q = p.addQueue(p.root, &api.QueueConfig{Name: api.RecoveryName})
		q.leaf, q.draining, q.dynamic = true, true, true
		p.root.children[api.RecoveryName] = q
		p.settlePlace(q)
		p.unview(p.root)
		p.tell(&api.QueueAdded{Queue: q.path})
	}
	return q
}

// setQueue brings a queue and what is below it in line with its configuration.
// A leaf that has applications stays a leaf.
func (b *backlog) setQueue(q *queue, config *api.QueueConfig) {
	q.draining = false
	q.wasDynamic, q.dynamic, q.quota = q.wasDynamic || q.dynamic, false, nil
	q.max, q.guaranteed, q.properties = config.Max, config.Guaranteed, config.Properties
	q.submit, q.admin, q.template = config.Submit, config.Admin, config.Below
	b.changes.free(&q.account)
	q.applicationsMax, q.limits = config.ApplicationsMax, newQueueLimits(config.Limits)
	q.exceeded = !q.used.Within(q.max)
	q.view = nil
	q.leaf = !config.Parent && len(config.Queues) == 0
	if len(q.applications) > 0 {
		q.leaf = true
	}
	if len(q.children) > 0 || q.parent == nil {
		q.leaf = false
	}
	configured := map[string]bool{}
	for i := range config.Queues {
		child := &config.Queues[i]
		if q.leaf {
			continue
		}
		configured[child.Name] = true
		if q.children[child.Name] == nil {
			q.children[child.Name] = b.addQueue(q, child)
		}
		b.setQueue(q.children[child.Name], child)
	}
	for _, child := range q.sortedChildren() {
		if !configured[child.name] {
			b.unconfigure(child)
		}
	}
	if !config.Parent && len(config.Queues) == 0 && len(q.children) == 0 && q.parent != nil {
		q.leaf = true // what was below it was empty
	}
}

// drain lets what is in a queue run and takes nothing new.
func (b *backlog) drain(q *queue) {
	q.draining = true
	q.limits = nil // they went with the configuration, and those above count
	q.view = nil
	for _, child := range q.sortedChildren() {
		b.drain(child)
	}
	b.prune(q)
}

// prune removes a queue that drains or is not configured, if it is empty, and then its
// parent if that is such a queue too.
func (b *backlog) prune(q *queue) {
	for (q.draining || q.dynamic) && len(q.children) == 0 && len(q.applications) == 0 && q.parent != nil && q.parent.children[q.name] == q {
		delete(q.parent.children, q.name)
		q.gone = true
		b.changes.queue(q, 0)
		b.unview(q.parent)
		if q.dynamic { // the configuration told of all others
			b.tell(&api.QueueRemoved{Queue: q.path})
		}
		q = q.parent
	}
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

func (q *queue) convertible(config *api.QueueConfig) error {
	parent := config.Parent || len(config.Queues) > 0 || q.parent == nil
	if parent && len(q.applications) > 0 {
		return fmt.Errorf("queue %s has %d applications and cannot become a parent", q.path, len(q.applications))
	}
	if !parent && len(q.children) > 0 {
		return fmt.Errorf("queue %s has %d queues and cannot become a leaf before they are empty", q.path, len(q.children))
	}
	for i := range config.Queues {
		child, ok := q.children[config.Queues[i].Name]
		if !ok {
			continue
		}
		if err := child.convertible(&config.Queues[i]); err != nil {
			return err
		}
	}
	return nil
}

// leafFor finds the leaf queue that an application asks for: a full path, or
// one below root, in any case; the default queue if it names none.
func (l *ledger) leafFor(requested api.QueuePath) (*queue, error) {
	path := requested.Full()
	q := l.root
	for _, name := range strings.Split(string(path), ".")[1:] {
		child := q.children[name]
		if child == nil && requested == "" {
			return nil, fmt.Errorf("names no queue, and there is no queue %s", api.DefaultQueue)
		}
		if child == nil {
			return nil, fmt.Errorf("queue %s does not exist: there is no %q in %s", path, name, q.path)
		}
		q = child
	}
	if !q.leaf {
		return nil, fmt.Errorf("queue %s is not a leaf", q.path)
	}
	return q, nil
}
