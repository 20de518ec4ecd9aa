package events

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// reconfigured records what a configuration changes of the queues. A root without
// a name stands for no queues at all.
func (c *conversion) reconfigured(e *api.Reconfigured) {
	before, after := &e.Before, &e.After
	if before.Name == "" {
		before = nil
	}
	if after.Name == "" {
		after = nil
	}
	d := queueChanges{c, e.Total}
	d.compare("", before, after)
}

// queueChanges records how queues differ between two configurations.
type queueChanges struct {
	*conversion
	total resources.Amounts // of all nodes
}

// compare records how a queue and the queues below it differ from before. Nil is a
// queue that is not configured.
func (d queueChanges) compare(above string, before, after *api.QueueConfig) {
	path := above
	none := new(api.QueueConfig)
	switch {
	case before == nil && after == nil:
		return
	case after == nil:
		path += before.Name
		d.compareLimits(path, before.Limits, nil)
		d.compareChildren(path, before, none)
		d.configured(path, si.EventRecord_REMOVE, "no longer configured: takes nothing new, and goes when it is empty")
		return
	case before == nil:
		before = none
		path += after.Name
		d.configured(path, si.EventRecord_ADD, "")
	default:
		path += after.Name
		if was, is := leaf(before, above), leaf(after, above); was != is {
			d.queueChanged(path, si.EventRecord_QUEUE_TYPE, nil, fmt.Sprintf("leaf queue: %t", is))
		}
	}
	if !before.Max.Equal(after.Max) {
		d.queueChanged(path, si.EventRecord_QUEUE_MAX, d.maxOf(after, above), d.maxBefore(before, above))
	}
	if !before.Guaranteed.Equal(after.Guaranteed) {
		d.queueChanged(path, si.EventRecord_QUEUE_GUARANTEED, messages.ResourceOf(d.kinds, after.Guaranteed), d.amountsBefore(before))
	}
	d.compareLimits(path, before.Limits, after.Limits)
	d.compareChildren(path, before, after)
}

// compareChildren compares the queues that are no longer there, then the others.
func (d queueChanges) compareChildren(path string, before, after *api.QueueConfig) {
	path += "."
	kept := map[string]*api.QueueConfig{}
	for i := range after.Queues {
		kept[after.Queues[i].Name] = nil
	}
	for i := range before.Queues {
		child := &before.Queues[i]
		if _, ok := kept[child.Name]; !ok {
			d.compare(path, child, nil)
			continue
		}
		kept[child.Name] = child
	}
	for i := range after.Queues {
		child := &after.Queues[i]
		d.compare(path, kept[child.Name], child)
	}
}

// leaf reports whether a queue holds applications. The root never does.
func leaf(q *api.QueueConfig, above string) bool {
	return above != "" && !q.Parent && len(q.Queues) == 0
}

// maxOf is the max of a queue. The root has what the nodes have, unless it is
// configured.
func (d queueChanges) maxOf(q *api.QueueConfig, above string) *si.Resource {
	if above == "" && len(q.Max) == 0 {
		return messages.ResourceOf(d.kinds, d.total)
	}
	return d.limits(q.Max)
}

// maxBefore says which max a queue had, if it was there. A root without one had what the nodes have.
func (d queueChanges) maxBefore(q *api.QueueConfig, above string) string {
	switch {
	case q.Name == "":
		return ""
	case above == "" && len(q.Max) == 0:
		return "before: what the nodes have"
	}
	return "before: " + d.kinds.FormatLimits(q.Max)
}

// amountsBefore says what a queue was guaranteed, if it was there.
func (d queueChanges) amountsBefore(q *api.QueueConfig) string {
	if q.Name == "" {
		return ""
	}
	return "before: " + d.kinds.Format(q.Guaranteed)
}

// limits is limits as a message: a kind it does not name is unlimited, one it
// names with zero may not be used.
func (d queueChanges) limits(l resources.Limits) *si.Resource {
	r := &si.Resource{Resources: make(map[string]*si.Quantity, len(l))}
	for i, v := range l {
		if v != resources.Unlimited {
			r.Resources[d.kinds.Name(resources.Kind(i))] = &si.Quantity{Value: v}
		}
	}
	return r
}

// configured records that a queue is configured, or no more.
func (d queueChanges) configured(path string, change si.EventRecord_ChangeType, message string) {
	d.add(&si.EventRecord{Type: si.EventRecord_QUEUE, ObjectID: path, EventChangeType: change, Message: message})
}

// dynamicQueue records that a queue that no configuration has came into being, or is gone.
func (c *conversion) dynamicQueue(path api.QueuePath, change si.EventRecord_ChangeType) {
	c.add(&si.EventRecord{
		Type: si.EventRecord_QUEUE, ObjectID: string(path), EventChangeType: change, EventChangeDetail: si.EventRecord_QUEUE_DYNAMIC,
	})
}

// queueChanged records that something of a queue has another value.
func (c *conversion) queueChanged(path string, detail si.EventRecord_ChangeDetail, now *si.Resource, message string) {
	c.add(&si.EventRecord{
		Type: si.EventRecord_QUEUE, ObjectID: path, Message: message, Resource: now,
		EventChangeType: si.EventRecord_SET, EventChangeDetail: detail,
	})
}
