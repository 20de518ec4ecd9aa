package events_test

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The records of an event are the same without a recorder, but for the max of the
// root.
func TestRecordsOfOneEvent(t *testing.T) {
	a := &core.Allocation{Key: "a1", Application: "app", Node: "n1", Amounts: amounts(4, 0)}
	w := newWorld(t, tree())
	root := tree(leaf("a")).Root
	for _, event := range []core.Event{
		core.AskAdded{Allocation: a},
		core.AskResized{Allocation: a},
		&core.AskEnded{Allocation: a},
		core.Placed{Allocation: a},
		core.Adopted{Allocation: a},
		&core.Resized{Allocation: a},
		&core.Ended{Allocation: a},
		&core.EvictionRequested{Allocation: a},
		&core.AllocationRejected{Key: "a1"},
		core.ForeignAdded{Allocation: a},
		core.ForeignRemoved{Allocation: a},
		&core.Claimed{Allocation: a, Node: "n1"},
		&core.ClaimEnded{Allocation: a, Node: "n1"},
		&core.Claimed{Allocation: a, Node: "n1", Plan: &preemptor.Decision{}, Reason: "r"},
		&core.ClaimEnded{Allocation: a, Node: "n1", Nominated: true, Reason: "r"},
		&core.PreemptionPlanned{Key: "a1"},
		&core.Unschedulable{Allocation: a},
		&core.AskReport{Allocation: a},
		&outcomes.VictimsWasted{For: "a1", Message: "m"},
		&core.ApplicationReport{ID: "app"},
		&core.QueueReport{Queue: "root.a"},
		&core.ApplicationAccepted{ID: "app"},
		&core.ApplicationRejected{ID: "app"},
		&core.ApplicationChanged{ID: "app", State: core.Running},
		&core.ApplicationGone{ID: "app"},
		&core.NodeAdded{ID: "n1"},
		&core.NodeRejected{ID: "n1"},
		&core.NodeResized{ID: "n1"},
		&core.NodeAttributes{ID: "n1"},
		&core.NodeSchedulable{ID: "n1"},
		&core.NodeRemoved{ID: "n1"},
		&core.QueueAdded{Queue: core.RecoveryQueue},
		&core.QueueRemoved{Queue: core.RecoveryQueue},
		&core.Reconfigured{After: root, Total: amounts(4, 0)},
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
	placed := events.Step{Now: w.now, Effects: core.Effects{core.Placed{Allocation: &core.Allocation{
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
		event := core.AskAdded{Allocation: &core.Allocation{Key: "k", Application: "app", Amounts: a}}
		records := w.recorder.Record(nil, events.Step{Now: w.now, Effects: core.Effects{event}})
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
