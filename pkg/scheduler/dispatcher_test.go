package scheduler

import (
	"fmt"
	"testing"
	"time"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// listener is a resource manager that hears of asks and of releases.
type listener struct {
	siapi.ResourceManagerCallback
	heard []string
}

func (l *listener) say(format string, args ...any) {
	l.heard = append(l.heard, fmt.Sprintf(format, args...))
}

func (l *listener) UpdateAllocation(r *si.AllocationResponse) error {
	l.say("%d released", len(r.Released))
	return nil
}

func (l *listener) UpdateContainerSchedulingState(r *si.UpdateContainerSchedulingStateRequest) {
	l.say("%s of %s is %v: %s", r.AllocationKey, r.ApplicationID, r.State, r.Reason)
}

// attentive hears of nominations too.
type attentive struct {
	listener
	panics bool
}

func (a *attentive) Nominate(allocationKey, nodeID string) {
	a.say("%s nominated to %s", allocationKey, nodeID)
	if a.panics {
		panic("nominate")
	}
}

func (a *attentive) ClearNomination(allocationKey string) {
	a.say("%s nominated no more", allocationKey)
	if a.panics {
		panic("clear")
	}
}

// testOwner is the owner of a partition that does not run.
func testOwner() *owner { return &owner{name: "[rm]default"} }

// put appends the effects of one step that is not recorded.
func put(x *outbox, from *owner, effects ...api.Event) (before uint64) {
	return x.put(&step{Step: events.Step{Now: time.Unix(100, 0), Effects: effects}, from: from})
}

// deliveryOf is the delivery of an event that is a step of its own.
func deliveryOf(event api.Event) delivery {
	return delivery{step: &step{Step: events.Step{Effects: api.Effects{event}}, from: testOwner()}, kind: kindOf(event)}
}

// deliverAll delivers what waits, and reports how many deliveries each call took.
func deliverAll(x *outbox, d *dispatcher) (taken []int) {
	for rest := x.waiting; len(rest) > 0; {
		n := d.deliver(rest)
		taken, rest = append(taken, n), rest[n:]
	}
	return taken
}

// A nomination is told in order with the rest: before the evictions that follow from
// it, as a state to each resource manager and in full to those that can hear it.
func TestNominationsAreDelivered(t *testing.T) {
	pod := func(key api.AllocationKey) *api.Allocation {
		return &api.Allocation{Key: key, Application: "app-1"}
	}
	effects := api.Effects{
		&api.Claimed{Allocation: pod("pod-1"), Node: "node-1", Reason: "room is made", Plan: new(preemptor.Decision)},
		&api.EvictionRequested{Allocation: pod("victim")},
		&api.ClaimEnded{Allocation: pod("pod-1"), Node: "node-1", Reason: "the node is gone", Nominated: true, End: api.EndOfRoom},
		&api.Claimed{Allocation: pod("pod-2"), Node: "node-2", Reason: "room is made", Plan: new(preemptor.Decision)},
		&api.ClaimEnded{Allocation: pod("pod-2"), Node: "node-2", Reason: "placed", Nominated: true},
	}
	states := []string{
		"pod-1 of app-1 is RESERVED: room is made",
		"1 released",
		"pod-1 of app-1 is SKIPPED: no longer nominated to node node-1: the node is gone",
		"pod-2 of app-1 is RESERVED: room is made",
	}
	full := []string{
		states[0], "pod-1 nominated to node-1", states[1], states[2], "pod-1 nominated no more", states[3], "pod-2 nominated to node-2",
	}
	simple, friend, broken := &listener{}, &attentive{}, &attentive{panics: true}
	for _, c := range []struct {
		callback siapi.ResourceManagerCallback
		heard    *[]string
		want     []string
		failed   int
	}{
		{simple, &simple.heard, states, 0},
		{friend, &friend.heard, full, 0},
		{broken, &broken.heard, full, 3}, // a panic is told, and nothing else changes
	} {
		t.Run(fmt.Sprintf("%T", c.callback), func(t *testing.T) {
			logs, seen := observer.New(zap.InfoLevel)
			x := newOutbox(meter{})
			d := &dispatcher{callback: c.callback, log: newEffectLog(newLoggers(zap.New(logs)), "rm")}
			d.nominations, _ = c.callback.(NominationCallback)
			put(x, testOwner(), effects...)
			deliverAll(x, d)
			assert.DeepEqual(t, *c.heard, c.want)
			assert.Equal(t, seen.FilterMessage("callback failed").Len(), c.failed)

			nominated := seen.FilterMessage("nominated").All()
			assert.Equal(t, len(nominated), 2)
			assert.Equal(t, nominated[0].Level, zap.InfoLevel)
			assert.DeepEqual(t, nominated[0].ContextMap(), map[string]any{
				"allocation": "pod-1", "application": "app-1", "node": "node-1", "reason": "room is made", "partition": "[rm]default",
				"resourceManager": "rm",
			})
			cleared := seen.FilterMessage("nomination cleared").All()
			assert.Equal(t, len(cleared), 1)
			assert.DeepEqual(t, cleared[0].ContextMap(), map[string]any{
				"allocation": "pod-1", "application": "app-1", "reason": "no longer nominated to node node-1: the node is gone",
				"partition": "[rm]default", "resourceManager": "rm",
			})
		})
	}
}

// keeper is a resource manager that keeps all responses.
type keeper struct {
	siapi.ResourceManagerCallback
	kept []*si.AllocationResponse
	then func() // with the third response; may be nil
}

func (k *keeper) UpdateAllocation(r *si.AllocationResponse) error {
	k.kept = append(k.kept, r)
	if k.then != nil && len(k.kept) == 3 {
		k.then()
	}
	return nil
}

// Placements that wait together take memory for a few responses at once, and never for more than
// wait. Responses that are kept stay as they were.
func TestResponsesTakeMemoryTogether(t *testing.T) {
	const placements = 10 * singlesMax
	k := &keeper{kept: make([]*si.AllocationResponse, 0, 20*placements)}
	d := &dispatcher{callback: k, allocationsMax: 1, log: newEffectLog(newLoggers(zap.NewNop()), "rm")}
	var waiting []delivery
	for i := range placements {
		waiting = append(waiting, deliveryOf(api.Placed{Allocation: running(api.AllocationKey(fmt.Sprint(i)), "node")}))
	}
	deliver := func(batch []delivery) {
		for ; len(batch) > 0; batch = batch[d.deliver(batch):] {
		}
	}
	got := testing.AllocsPerRun(5, func() { deliver(waiting) })
	assert.Assert(t, got <= placements/singlesMax, "%v objects for %d placements", got, placements)
	for i, r := range k.kept {
		assert.Equal(t, len(r.New), 1)
		assert.Equal(t, r.New[0].AllocationKey, fmt.Sprint(i%placements))
	}
	for _, n := range []int{1, 3, singlesMax, singlesMax + 1} {
		d.singles = nil
		d.deliver(waiting[:n])
		assert.Equal(t, len(d.singles), min(n, singlesMax)-1)
	}
}
