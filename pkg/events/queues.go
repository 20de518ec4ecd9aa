package events

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// configured tells what a configuration changes of the queues. One without a
// root leaves none of them.
func (s *Recorder) configured(root *core.QueueConfig) {
	if root.Name == "" {
		root = nil
	}
	before := s.root
	s.root = root
	if !s.quiet {
		s.tellQueues("", before, root)
	}
}

// tellQueues tells how a queue and what is below it differ from before. Nil is
// one that is not configured.
func (s *Recorder) tellQueues(above string, before, after *core.QueueConfig) {
	path := above
	none := new(core.QueueConfig)
	switch {
	case before == nil && after == nil:
		return
	case after == nil:
		path += before.Name
		s.tellChildren(path, before, none)
		s.tellConfigured(path, si.EventRecord_REMOVE, "no longer configured: takes nothing new, and goes when it is empty")
		return
	case before == nil:
		before = none
		path += after.Name
		s.tellConfigured(path, si.EventRecord_ADD, "")
	default:
		path += after.Name
		if was, is := leaf(before, above), leaf(after, above); was != is {
			s.tellChanged(path, si.EventRecord_QUEUE_TYPE, nil, fmt.Sprintf("leaf queue: %t", is))
		}
	}
	if !before.Max.Equal(after.Max) {
		s.tellChanged(path, si.EventRecord_QUEUE_MAX, s.maxOf(after, above), "")
	}
	if !before.Guaranteed.Equal(after.Guaranteed) {
		s.tellChanged(path, si.EventRecord_QUEUE_GUARANTEED, core.ResourceOf(s.kinds, after.Guaranteed), "")
	}
	s.tellChildren(path, before, after)
}

// tellChildren tells of the queues that are no longer there, then of the others.
func (s *Recorder) tellChildren(path string, before, after *core.QueueConfig) {
	path += "."
	kept := map[string]*core.QueueConfig{}
	for i := range after.Queues {
		kept[after.Queues[i].Name] = nil
	}
	for i := range before.Queues {
		child := &before.Queues[i]
		if _, ok := kept[child.Name]; !ok {
			s.tellQueues(path, child, nil)
			continue
		}
		kept[child.Name] = child
	}
	for i := range after.Queues {
		child := &after.Queues[i]
		s.tellQueues(path, kept[child.Name], child)
	}
}

// leaf reports whether a queue holds applications. The root never does.
func leaf(q *core.QueueConfig, above string) bool {
	return above != "" && !q.Parent && len(q.Queues) == 0
}

// maxOf is the max of a queue. The root has what the nodes have, unless it is
// configured.
func (s *Recorder) maxOf(q *core.QueueConfig, above string) *si.Resource {
	if above == "" && len(q.Max) == 0 {
		return s.sizes.message()
	}
	return s.limits(q.Max)
}

// limits is limits as a message: a kind it does not name is unlimited, one it
// names with zero may not be used.
func (s *Recorder) limits(l resources.Limits) *si.Resource {
	r := &si.Resource{Resources: make(map[string]*si.Quantity, len(l))}
	for i, v := range l {
		if v != resources.Unlimited {
			r.Resources[s.kinds.Name(resources.Kind(i))] = &si.Quantity{Value: v}
		}
	}
	return r
}

func (s *Recorder) tellConfigured(path string, change si.EventRecord_ChangeType, message string) {
	s.stamp(&si.EventRecord{Type: si.EventRecord_QUEUE, ObjectID: path, EventChangeType: change, Message: message})
}

func (s *Recorder) tellChanged(path string, detail si.EventRecord_ChangeDetail, now *si.Resource, message string) {
	s.stamp(&si.EventRecord{
		Type: si.EventRecord_QUEUE, ObjectID: path, Message: message, Resource: now,
		EventChangeType: si.EventRecord_SET, EventChangeDetail: detail,
	})
}
