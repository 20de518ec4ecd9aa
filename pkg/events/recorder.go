package events

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Step is what a partition did at once: for one command, or in one call of
// Schedule. The first step of a partition holds an api.Reconfigured without a
// configuration before. Events that no partition made, such as refusals at the
// edge, are a step as well.
type Step struct {
	Now     time.Time   // as given to the partition
	Effects api.Effects // all of them, in order
}

// A Recorder turns the steps of one partition into event records. An event says
// all that its records say, with one exception: a root queue without a max of its
// own has what the nodes have, so that a node changes its max. Whether that is so is
// all that a Recorder remembers of a partition. It must be shown every step, in
// order.
//
// A Recorder belongs to one goroutine. It changes nothing of a step, and keeps
// only strings and amounts of it.
type Recorder struct {
	conversion
	root string // the name of the root queue, if its max is what the nodes have
}

// NewRecorder makes a recorder for a partition with nothing in it. The table of
// kinds is that of the partition.
func NewRecorder(kinds *resources.Kinds) *Recorder {
	return &Recorder{conversion: conversion{kinds: kinds}}
}

// Record appends the records of a step, in the order of its events.
func (r *Recorder) Record(records []*si.EventRecord, step Step) []*si.EventRecord {
	r.records, r.now = records, step.Now.UnixNano()
	for _, event := range step.Effects {
		r.convert(event)
		r.follow(event)
		if total, changed := totalAfter(event); changed && r.root != "" {
			r.queueChanged(r.root, si.EventRecord_QUEUE_MAX, messages.ResourceOf(r.kinds, total), "")
		}
	}
	records, r.records = r.records, nil
	return records
}

// Skip takes notice of a step without making records, for as long as they are not
// wanted.
func (r *Recorder) Skip(step Step) {
	for _, event := range step.Effects {
		r.follow(event)
	}
}

// follow notes whether the max of the root queue is what the nodes have.
func (r *Recorder) follow(event api.Event) {
	e, ok := event.(*api.Reconfigured)
	if !ok {
		return
	}
	r.root = e.After.Name
	if len(e.After.Max) > 0 {
		r.root = ""
	}
}

// totalAfter is what all nodes have together, if an event changes that.
func totalAfter(event api.Event) (resources.Amounts, bool) {
	switch e := event.(type) {
	case *api.NodeAdded:
		return e.Total, true
	case *api.NodeResized:
		return e.Total, true
	case *api.NodeRemoved:
		return e.Total, true
	}
	return nil, false
}
