package events_test

import (
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The records of an event are the same without a recorder, but for the max of the
// root.
func TestRecordsOfOneEvent(t *testing.T) {
	a := &api.Allocation{Key: "a1", Application: "app", Node: "n1", Amounts: amounts(4, 0)}
	w := newWorld(t, tree())
	root := tree(leaf("a")).Root
	for _, event := range []api.Event{
		api.AskAdded{Allocation: a},
		api.AskResized{Allocation: a},
		&api.AskEnded{Allocation: a},
		api.Placed{Allocation: a},
		api.Adopted{Allocation: a},
		&api.Resized{Allocation: a},
		&api.Ended{Allocation: a},
		&api.EvictionRequested{Allocation: a},
		&api.AllocationRejected{Key: "a1"},
		api.ForeignAdded{Allocation: a},
		api.ForeignRemoved{Allocation: a},
		&api.Claimed{Allocation: a, Node: "n1"},
		&api.ClaimEnded{Allocation: a, Node: "n1"},
		&api.Claimed{Allocation: a, Node: "n1", Plan: &preemptor.Decision{}, Reason: "r"},
		&api.ClaimEnded{Allocation: a, Node: "n1", Nominated: true, Reason: "r"},
		&api.PreemptionPlanned{Key: "a1"},
		&api.Unschedulable{Allocation: a},
		&api.AskReport{Allocation: a},
		&outcomes.VictimsWasted{For: "a1", Message: "m"},
		&api.ApplicationReport{ID: "app"},
		&api.QueueReport{Queue: "root.a"},
		&api.ApplicationAccepted{ID: "app"},
		&api.ApplicationRejected{ID: "app"},
		&api.ApplicationChanged{ID: "app", State: api.Running},
		&api.ApplicationGone{ID: "app"},
		&api.NodeAdded{ID: "n1"},
		&api.NodeRejected{ID: "n1"},
		&api.NodeResized{ID: "n1"},
		&api.NodeAttributes{ID: "n1"},
		&api.NodeSchedulable{ID: "n1"},
		&api.NodeRemoved{ID: "n1"},
		&api.QueueAdded{Queue: api.RecoveryQueue},
		&api.QueueRemoved{Queue: api.RecoveryQueue},
		&api.Reconfigured{After: root, Total: amounts(4, 0)},
	} {
		records := events.Records(w.kinds, w.now, event)
		limited := *w
		limited.recorder = events.NewRecorder(w.kinds)
		assert.Equal(t, lines(records), limited.record(event), "%T", event)
	}
}

// The records are appended to what is given, and a placement costs one piece
// of memory: both records of it.
func TestAPlacementIsOnePieceOfMemory(t *testing.T) {
	w := working(t)
	placed := events.Step{Now: w.now, Effects: api.Effects{api.Placed{Allocation: &api.Allocation{
		Key: "a1", Application: "app", Node: "n1", Amounts: amounts(4, 0),
	}}}}
	var records []*si.EventRecord
	assert.Equal(t, testing.AllocsPerRun(100, func() { records = w.recorder.Record(records[:0], placed) }), 1.0)
	records = w.recorder.Record(records, placed)
	assert.Equal(t, len(records), 4)
	assert.Equal(t, testing.AllocsPerRun(100, func() { w.recorder.Skip(placed) }), 0.0)
}

// Asks that share their amounts share the message of them, however many others
// come between. What is not shared is right all the same.
func TestEqualAsksShareTheirResource(t *testing.T) {
	w := working(t)
	sizes := make([]resources.Amounts, 1500)
	for i := range sizes {
		sizes[i] = amounts(int64(i%1000+1), 0)
	}
	asked := func(a resources.Amounts) *si.Resource {
		event := api.AskAdded{Allocation: &api.Allocation{Key: "k", Application: "app", Amounts: a}}
		records := w.recorder.Record(nil, events.Step{Now: w.now, Effects: api.Effects{event}})
		assert.Equal(t, records[0].Resource.Resources[resources.VCore].Value, a[0])
		return records[0].Resource
	}
	seen := make([]*si.Resource, 600)
	for range 3 {
		for i := range seen {
			message := asked(sizes[i])
			assert.Assert(t, seen[i] == nil || seen[i] == message)
			seen[i] = message
		}
	}
	assert.Assert(t, asked(sizes[7]) == asked(amounts(8, 0)), "alike, one after the other")
	for _, a := range sizes { // more than are remembered
		asked(a)
	}
	first := asked(sizes[0])
	assert.Assert(t, first == asked(sizes[0]))
}

// TestEvictionsSayWhatTheyCost: how long the victim ran, and its priority beside that of the ask, unless they
// decided and are said already; of a pod of another scheduler it is how long it has been there.
func TestEvictionsSayWhatTheyCost(t *testing.T) {
	now := time.Unix(10_000, 0)
	ran := &api.Allocation{Placed: now.Add(-35 * time.Minute), Created: now.Add(-time.Hour), Priority: 3}
	foreign := &api.Allocation{Created: now.Add(-time.Hour), Origin: api.Foreign, Priority: 7}
	ask := &api.Allocation{Priority: 5}
	for want, e := range map[string]*api.EvictionRequested{
		"why; it ran 35m0s": {Allocation: ran, Ask: ask, Trigger: preemptor.Priority},
		"why; it ran 35m0s, its priority is 3, that of the ask 5":  {Allocation: ran, Ask: ask, Trigger: preemptor.Guarantee},
		"why; it ran 1h0m0s, its priority is 7, that of the ask 5": {Allocation: foreign, Ask: ask, Trigger: preemptor.RequiredNode},
		"why; it ran 35m0s, its priority is 3":                     {Allocation: ran, Trigger: preemptor.Quota},
		"why":                                                      {Allocation: &api.Allocation{Created: now}, Ask: ask, Trigger: preemptor.Priority},
	} {
		e.Message = "why"
		records := events.Records(new(resources.Kinds), now, e)
		assert.Equal(t, len(records), 1)
		assert.Equal(t, records[0].Message, want)
	}
}
