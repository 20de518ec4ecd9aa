package ledger

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// Quota records that a leaf has another max, as if something had been booked or had ended
// there: what waits in it is decided anew. It costs what the leaf has, not what the partition has.
func (c *changeSet) Quota(q *Queue) {
	for _, app := range q.SortedApplications() {
		c.Application(app, QuotaFreed|QuotaLowered|QuotaBooked)
	}
}

// FollowTemplate brings a queue that is not configured in line with the template of its
// parent.
func (q *Queue) FollowTemplate() {
	q.Dynamic, q.Draining = true, false
	q.Submit, q.Admin = access.List{}, access.List{}
	q.Template = q.Parent.Template
	q.Max, q.Guaranteed, q.Properties = nil, nil, q.Parent.Properties
	q.ApplicationsMax, q.limits = 0, nil
	if t := q.Template; t != nil {
		q.Properties = t.Parent
		if q.Leaf {
			q.Max, q.Guaranteed, q.Properties = t.Max, t.Guaranteed, t.Leaf
			q.ApplicationsMax = t.ApplicationsMax
		}
	}
	if q.Quota != nil && q.Leaf {
		q.take(q.Quota)
	}
	q.exceeded = !q.Used.Within(q.Max)
	q.View = nil
}

// take gives a queue the quota in place of that of a template.
func (q *Queue) take(quota *api.QueueQuota) {
	if quota.Max != nil || quota.Guaranteed != nil {
		q.Max, q.Guaranteed = quota.Max, quota.Guaranteed
	}
	if quota.ApplicationsMax > 0 {
		q.ApplicationsMax = quota.ApplicationsMax
	}
}

// unconfigure lets a queue live on that is not configured, or not any more: one that was made
// by a rule as long as it has applications, any other one until what is in it has ended.
func (l *Ledger) unconfigure(q *Queue) {
	if !q.Dynamic && !q.WasDynamic || q.Path == api.RecoveryQueue {
		l.drain(q)
		return
	}
	q.FollowTemplate()
	for _, child := range q.SortedChildren() {
		l.unconfigure(child)
	}
	l.Prune(q)
}

// LeafFor finds the leaf queue that an application asks for: a full path, or
// one below root, in any case; the default queue if it names none.
func (l *Ledger) LeafFor(requested api.QueuePath) (*Queue, error) {
	path := requested.Full()
	q := l.Root
	for _, name := range strings.Split(string(path), ".")[1:] {
		child := q.Children[name]
		if child == nil && requested == "" {
			return nil, fmt.Errorf("names no queue, and there is no queue %s", api.DefaultQueue)
		}
		if child == nil {
			return nil, fmt.Errorf("queue %s does not exist: there is no %q in %s", path, name, q.Path)
		}
		q = child
	}
	if !q.Leaf {
		return nil, fmt.Errorf("queue %s is not a leaf", q.Path)
	}
	return q, nil
}

// Convertible says why a queue and those below cannot become what a configuration says; nil if they can.
func (q *Queue) Convertible(config *api.QueueConfig) error {
	parent := config.Parent || len(config.Queues) > 0 || q.Parent == nil
	if parent && len(q.Applications) > 0 {
		return fmt.Errorf("queue %s has %d applications and cannot become a parent", q.Path, len(q.Applications))
	}
	if !parent && len(q.Children) > 0 {
		return fmt.Errorf("queue %s has %d queues and cannot become a leaf before they are empty", q.Path, len(q.Children))
	}
	for i := range config.Queues {
		child, ok := q.Children[config.Queues[i].Name]
		if !ok {
			continue
		}
		if err := child.Convertible(&config.Queues[i]); err != nil {
			return err
		}
	}
	return nil
}

// Configure takes a configuration, and brings the queues in line with it.
func (l *Ledger) Configure(config api.Config) {
	l.Config, l.Name, l.Preemption = config, config.Name, config.Preemption.WithDefaults()
	l.Preemption.RequiredNode.SpareForeign = l.Preemption.RequiredNode.SpareForeign || l.Options.KeepsForeign
	if l.Root == nil {
		l.Root = l.newQueue(nil, &config.Root)
	}
	l.setQueue(l.Root, &config.Root)
	l.capped = !l.Root.Everywhere(func(q *Queue) bool { return q.ApplicationsMax == 0 })
}

// AddQueue makes a queue that is not configured, by the template of its parent.
func (l *Ledger) AddQueue(parent *Queue, name string, leaf bool) *Queue {
	q := l.newQueue(parent, &api.QueueConfig{Name: name})
	q.Leaf = leaf
	q.FollowTemplate()
	parent.Unview()
	l.capped = l.capped || q.ApplicationsMax > 0
	return q
}

// RestoreQueue brings back a queue from its view, and reports whether it had to be made, since it is not configured.
func (l *Ledger) RestoreQueue(parent *Queue, v *api.QueueView) (q *Queue, made bool) {
	name := v.Path.Name()
	q = parent.Children[name]
	if made = q == nil; made {
		q = l.newQueue(parent, &api.QueueConfig{Name: name})
		q.Max, q.Guaranteed, q.Properties, q.ApplicationsMax = v.Max, v.Guaranteed, v.Properties, v.ApplicationsMax
		q.Leaf, q.Draining, q.Dynamic, q.Quota, q.Template = v.Leaf, v.Draining, v.Dynamic, v.Quota, parent.Template
		l.capped = l.capped || q.ApplicationsMax > 0
	}
	q.WasDynamic = v.WasDynamic
	if v.Leaf != q.Leaf { // it has applications or queues, so the configuration did not change what it is
		q.Leaf = v.Leaf
		for _, configured := range q.SortedChildren() {
			l.Drop(configured)
		}
	}
	return q, made
}

// SetQuota gives a queue that is not configured a quota of its own.
func (l *Ledger) SetQuota(q *Queue, quota *api.QueueQuota) {
	q.Quota = quota
	q.FollowTemplate()
	l.capped = l.capped || q.ApplicationsMax > 0
	l.Changes.Free(&q.Account)
	q.Unview()
}

// RecoveryQueue is the recovery queue, made if there is none.
func (l *Ledger) RecoveryQueue() *Queue {
	q := l.Root.Children[api.RecoveryName]
	if q == nil {
		q = l.newQueue(l.Root, &api.QueueConfig{Name: api.RecoveryName})
		q.Leaf, q.Draining, q.Dynamic = true, true, true
		l.Root.Unview()
		l.Tell(&api.QueueAdded{Queue: q.Path})
	}
	return q
}

// setQueue brings a queue and what is below it in line with its configuration.
// A leaf that has applications stays a leaf.
func (l *Ledger) setQueue(q *Queue, config *api.QueueConfig) {
	q.Draining = false
	q.WasDynamic, q.Dynamic, q.Quota = q.WasDynamic || q.Dynamic, false, nil
	q.Max, q.Guaranteed, q.Properties = config.Max, config.Guaranteed, config.Properties
	q.Submit, q.Admin, q.Template = config.Submit, config.Admin, config.Below
	l.Changes.Free(&q.Account)
	q.ApplicationsMax, q.limits = config.ApplicationsMax, newQueueLimits(config.Limits)
	q.exceeded = !q.Used.Within(q.Max)
	q.View = nil
	q.Leaf = !config.Parent && len(config.Queues) == 0
	if len(q.Applications) > 0 {
		q.Leaf = true
	}
	if len(q.Children) > 0 || q.Parent == nil {
		q.Leaf = false
	}
	configured := map[string]bool{}
	for i := range config.Queues {
		child := &config.Queues[i]
		if q.Leaf {
			continue
		}
		configured[child.Name] = true
		if q.Children[child.Name] == nil {
			l.newQueue(q, child)
		}
		l.setQueue(q.Children[child.Name], child)
	}
	for _, child := range q.SortedChildren() {
		if !configured[child.Name] {
			l.unconfigure(child)
		}
	}
	if !config.Parent && len(config.Queues) == 0 && len(q.Children) == 0 && q.Parent != nil {
		q.Leaf = true // what was below it was empty
	}
}

// drain lets what is in a queue run and takes nothing new.
func (l *Ledger) drain(q *Queue) {
	q.Draining = true
	q.limits = nil // they went with the configuration, and those above count
	q.View = nil
	for _, child := range q.SortedChildren() {
		l.drain(child)
	}
	l.Prune(q)
}

// Drop takes a queue in which nothing is away from its parent, with all below it.
func (l *Ledger) Drop(q *Queue) {
	for _, child := range q.SortedChildren() {
		l.Drop(child)
	}
	delete(q.Parent.Children, q.Name)
	q.Gone = true
	l.Changes.Queue(q, 0)
}

// Prune removes a queue that drains or is not configured, if it is empty, and then its
// parent if that is such a queue too.
func (l *Ledger) Prune(q *Queue) {
	for (q.Draining || q.Dynamic) && len(q.Children) == 0 && len(q.Applications) == 0 && q.Parent != nil && q.Parent.Children[q.Name] == q {
		l.Drop(q)
		q.Parent.Unview()
		if q.Dynamic { // the configuration told of all others
			l.Tell(&api.QueueRemoved{Queue: q.Path})
		}
		q = q.Parent
	}
}
