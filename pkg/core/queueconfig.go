package core

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// quota records that a leaf has another max, as if something had been booked or had ended
// there: what waits in it is decided anew. It costs what the leaf has, not what the partition has.
func (c *changeSet) quota(q *queue) {
	for _, app := range q.sortedApplications() {
		c.application(app, quotaFreed|quotaLowered|quotaBooked)
	}
}

// followTemplate brings a queue that is not configured in line with the template of its
// parent.
func (q *queue) followTemplate() {
	q.dynamic, q.draining = true, false
	q.submit, q.admin = access.List{}, access.List{}
	q.template = q.parent.template
	q.max, q.guaranteed, q.properties = nil, nil, q.parent.properties
	q.applicationsMax, q.limits = 0, nil
	if t := q.template; t != nil {
		q.properties = t.Parent
		if q.leaf {
			q.max, q.guaranteed, q.properties = t.Max, t.Guaranteed, t.Leaf
			q.applicationsMax = t.ApplicationsMax
		}
	}
	if q.quota != nil && q.leaf {
		q.take(q.quota)
	}
	q.exceeded = !q.used.Within(q.max)
	q.view = nil
}

// take gives a queue the quota in place of that of a template.
func (q *queue) take(quota *api.QueueQuota) {
	if quota.Max != nil || quota.Guaranteed != nil {
		q.max, q.guaranteed = quota.Max, quota.Guaranteed
	}
	if quota.ApplicationsMax > 0 {
		q.applicationsMax = quota.ApplicationsMax
	}
}

// unconfigure lets a queue live on that is not configured, or not any more: one that was made
// by a rule as long as it has applications, any other one until what is in it has ended.
func (l *ledger) unconfigure(q *queue) {
	if !q.dynamic && !q.wasDynamic || q.path == api.RecoveryQueue {
		l.drain(q)
		return
	}
	q.followTemplate()
	for _, child := range q.sortedChildren() {
		l.unconfigure(child)
	}
	l.prune(q)
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

// setQueue brings a queue and what is below it in line with its configuration.
// A leaf that has applications stays a leaf.
func (l *ledger) setQueue(q *queue, config *api.QueueConfig) {
	q.draining = false
	q.wasDynamic, q.dynamic, q.quota = q.wasDynamic || q.dynamic, false, nil
	q.max, q.guaranteed, q.properties = config.Max, config.Guaranteed, config.Properties
	q.submit, q.admin, q.template = config.Submit, config.Admin, config.Below
	l.changes.free(&q.account)
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
			q.children[child.Name] = l.newQueue(q, child)
		}
		l.setQueue(q.children[child.Name], child)
	}
	for _, child := range q.sortedChildren() {
		if !configured[child.name] {
			l.unconfigure(child)
		}
	}
	if !config.Parent && len(config.Queues) == 0 && len(q.children) == 0 && q.parent != nil {
		q.leaf = true // what was below it was empty
	}
}

// drain lets what is in a queue run and takes nothing new.
func (l *ledger) drain(q *queue) {
	q.draining = true
	q.limits = nil // they went with the configuration, and those above count
	q.view = nil
	for _, child := range q.sortedChildren() {
		l.drain(child)
	}
	l.prune(q)
}

// prune removes a queue that drains or is not configured, if it is empty, and then its
// parent if that is such a queue too.
func (l *ledger) prune(q *queue) {
	for (q.draining || q.dynamic) && len(q.children) == 0 && len(q.applications) == 0 && q.parent != nil && q.parent.children[q.name] == q {
		delete(q.parent.children, q.name)
		q.gone = true
		l.changes.queue(q, 0)
		l.unview(q.parent)
		if q.dynamic { // the configuration told of all others
			l.tell(&api.QueueRemoved{Queue: q.path})
		}
		q = q.parent
	}
}
