package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/everyevent"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// collector is a resource manager that keeps the responses, one line for each.
type collector struct {
	api.ResourceManagerCallback
	heard  []string
	placed []*si.Allocation
	fails  error
}

func (c *collector) say(format string, args ...any) error {
	c.heard = append(c.heard, strings.TrimSpace(fmt.Sprintf(format, args...)))
	return c.fails
}

func (c *collector) UpdateAllocation(r *si.AllocationResponse) error {
	c.placed = append(c.placed, r.New...)
	return c.say("%v", r)
}

func (c *collector) UpdateApplication(r *si.ApplicationResponse) error { return c.say("%v", r) }

func (c *collector) UpdateNode(r *si.NodeResponse) error { return c.say("%v", r) }

func (c *collector) UpdateContainerSchedulingState(r *si.UpdateContainerSchedulingStateRequest) {
	_ = c.say("%v", r)
}

// collecting is a dispatcher that collects, and its outbox.
func collecting() (*collector, *dispatcher, *outbox) {
	c := new(collector)
	return c, &dispatcher{
		callback: c, allocationsMax: 1, log: newEffectLog(newLoggers(zap.NewNop()), "rm"), messages: messageMaker{kinds: new(resources.Kinds)},
	}, newOutbox(meter{})
}

// Each event leads to one message, or to none.
func TestTheMessageOfEachEvent(t *testing.T) {
	a := &core.Allocation{Key: "pod", Application: "app", Node: "node", Priority: 7, TaskGroup: "group", Placeholder: true, Originator: true}
	foreign := &core.Allocation{Key: "other", Node: "node", Origin: core.Foreign}
	preemptable := &core.Allocation{Key: "pod", Application: "app", Node: "node", Preemptable: core.Preemptable{Stated: true, AllowSelf: true}}
	placed := `new:{allocationKey:"pod" resourcePerAlloc:{} priority:7 nodeID:"node" applicationID:"app" ` +
		`partitionName:"[rm]default" taskGroupName:"group" placeholder:true originator:true}`
	released := func(text string) string {
		return `released:{partitionName:"[rm]default" applicationID:"app" terminationType:STOPPED_BY_RM message:"` + text + `" allocationKey:"pod"}`
	}
	ended := func(cause core.EndCause) core.Event { return &core.Ended{Allocation: a, Cause: cause, Message: "text"} }
	for _, c := range []struct {
		event core.Event
		want  string // empty for none
	}{
		{core.Placed{Allocation: a}, placed},
		{core.Adopted{Allocation: a}, placed},
		{core.Placed{Allocation: preemptable}, `new:{allocationKey:"pod" resourcePerAlloc:{} nodeID:"node" applicationID:"app" ` +
			`partitionName:"[rm]default" preemptionPolicy:{allowPreemptSelf:true}}`},
		{ended(core.CauseReleased), released("released as the resource manager asked")},
		{ended(core.CauseNodeRemoved), released("text")},
		{ended(core.CauseApplicationRemoved), released("text")},
		{ended(core.CauseTimedOut), ""},
		{ended(core.CausePreempted), ""},
		{ended(core.CauseReplaced), ""},
		{ended(core.CauseBindFailed), ""},
		{&core.EvictionRequested{Allocation: a, Message: "room"}, `released:{partitionName:"[rm]default" applicationID:"app" ` +
			`terminationType:PREEMPTED_BY_SCHEDULER message:"room" allocationKey:"pod"}`},
		{&core.EvictionRequested{Allocation: foreign, Message: "room"}, `released:{partitionName:"[rm]default" ` +
			`terminationType:PREEMPTED_BY_SCHEDULER message:"room" allocationKey:"other"}`},
		{&core.AllocationRejected{Key: "pod", Application: "app", Reason: "no"}, `rejectedAllocations:{allocationKey:"pod" applicationID:"app" reason:"no"}`},
		{&core.ApplicationAccepted{ID: "app", Queue: "root.a"}, `accepted:{applicationID:"app"}`},
		{&core.ApplicationRejected{ID: "app", Reason: "no"}, `rejected:{applicationID:"app" reason:"no"}`},
		{&core.ApplicationChanged{ID: "app", State: core.Running, Message: "m"}, `updated:{applicationID:"app" state:"Running" stateTransitionTimestamp:100000000000 message:"m"}`},
		{&core.NodeAdded{ID: "node"}, `accepted:{nodeID:"node"}`},
		{&core.NodeRejected{ID: "node", Reason: "no"}, `rejected:{nodeID:"node" reason:"no"}`},
		{&core.Unschedulable{Allocation: a, Reason: "full"}, `applicationID:"app" allocationKey:"pod" state:FAILED reason:"full"`},
		{&core.Claimed{Allocation: a, Node: "node", Reason: "room", Plan: new(preemptor.Decision)}, `applicationID:"app" allocationKey:"pod" state:RESERVED reason:"room"`},
		{
			&core.ClaimEnded{Allocation: a, Node: "node", Reason: "gone", Nominated: true, End: core.EndOfRoom},
			`applicationID:"app" allocationKey:"pod" state:SKIPPED reason:"no longer nominated to node node: gone"`,
		},
		{&core.ClaimEnded{Allocation: a, Node: "node", Reason: "placed", Nominated: true}, ""},
		{core.AskAdded{Allocation: a}, ""},
		{core.AskResized{Allocation: a}, ""},
		{&core.AskEnded{Allocation: a}, ""},
		{&core.Resized{Allocation: a}, ""},
		{core.ForeignAdded{Allocation: foreign}, ""},
		{core.ForeignRemoved{Allocation: foreign}, ""},
		{&core.Claimed{Allocation: a}, ""},
		{&core.ClaimEnded{Allocation: a, End: core.EndOfRoom}, ""},
		{&core.PreemptionPlanned{}, ""},
		{&core.AskReport{Allocation: a}, ""},
		{&reports.AskWaits{Allocation: a}, ""},
		{&core.ApplicationReport{}, ""},
		{&core.QueueReport{}, ""},
		{&core.EvictionOverdue{}, ""},
		{&outcomes.VictimsWasted{}, ""},
		{&core.ApplicationGone{}, ""},
		{&core.ApplicationGroup{}, ""},
		{&core.ApplicationHeld{}, ""},
		{&core.NodeResized{}, ""},
		{&core.NodeAttributes{}, ""},
		{&core.NodeSchedulable{}, ""},
		{&core.NodeRemoved{}, ""},
		{&core.QueueAdded{}, ""},
		{&core.QueueRemoved{}, ""},
		{&core.Reconfigured{}, ""},
	} {
		rm, d, x := collecting()
		put(x, testOwner(), c.event)
		deliverAll(x, d)
		// The text of a message has one space or two, so that programs do not depend on it.
		got := strings.ReplaceAll(strings.Join(rm.heard, "\n"), "  ", " ")
		assert.Equal(t, got, c.want, "%T", c.event)
		assert.Equal(t, kindOf(c.event) == noMessage, c.want == "", "%T", c.event)
	}
}

// Events of which a resource manager gets a record without a history, too, have one each; a node
// that comes has two.
func TestEventsThatAreAlwaysRecorded(t *testing.T) {
	var recorded []string
	for _, event := range everyevent.Events() {
		if isAlwaysRecorded(event) {
			recorded = append(recorded, strings.TrimLeft(fmt.Sprintf("%T", event), "*"))
			want := 1
			if _, is := event.(*core.NodeAdded); is {
				want = 2 // that it is there, and whether it is schedulable
			}
			assert.Equal(t, len(events.Records(new(resources.Kinds), time.Time{}, event)), want, "%T", event)
		}
	}
	assert.DeepEqual(t, recorded, []string{
		"core.EvictionRequested", "core.ForeignAdded", "core.ForeignRemoved", "core.Claimed", "core.ClaimEnded", "core.AskReport", "reports.AskWaits", "core.ApplicationReport", "core.QueueReport", "outcomes.VictimsWasted",
		"core.ApplicationHeld",
		"core.NodeAdded", "core.NodeResized", "core.NodeSchedulable", "core.NodeRemoved",
		"core.QueueAdded", "core.QueueRemoved",
	})
}

// Messages of one kind share a response, from one step to the next and over partitions;
// different kinds never do. Placements share one as far as is configured.
func TestResponsesAreShared(t *testing.T) {
	placed := core.Placed{Allocation: running("pod", "node")}
	evicted := &core.EvictionRequested{Allocation: running("victim", "node")}
	ended := &core.Ended{Allocation: running("pod", "node")}
	rejected := &core.AllocationRejected{Key: "pod"}
	node := &core.NodeAdded{ID: "node"}
	for _, c := range []struct {
		name   string
		most   int
		events core.Effects
		want   []int
	}{
		{"placements one by one", 1, core.Effects{placed, placed, placed}, []int{1, 1, 1}},
		{"placements by two", 2, core.Effects{placed, placed, placed, node, placed}, []int{2, 1, 1, 1}},
		{"ends of all kinds", 1, core.Effects{evicted, ended, evicted, rejected, rejected, ended}, []int{3, 2, 1}},
		{"events without a message", 1, core.Effects{node, core.AskAdded{Allocation: running("pod", "")}, node}, []int{2}},
		{"one kind between", 1, core.Effects{rejected, node, rejected}, []int{1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rm, d, x := collecting()
			d.allocationsMax = c.most
			for i, event := range c.events {
				put(x, &owner{name: fmt.Sprint("partition-", i%2)}, event)
			}
			assert.DeepEqual(t, deliverAll(x, d), c.want)
			assert.Equal(t, len(rm.heard), len(c.want))
		})
	}
}

// Equal amounts are one resource in messages, and others are not.
func TestEqualAmountsShareAResource(t *testing.T) {
	rm, d, x := collecting()
	vcore, err := d.messages.kinds.Intern("vcore")
	assert.NilError(t, err)
	for i := range 1000 {
		amounts := resources.Amounts{}
		amounts.Set(vcore, int64(i%2+1))
		a := running(core.AllocationKey(fmt.Sprint(i)), "node")
		a.Amounts = amounts
		put(x, testOwner(), core.Placed{Allocation: a})
	}
	deliverAll(x, d)
	for i, a := range rm.placed {
		assert.Equal(t, a.ResourcePerAlloc.Resources["vcore"].Value, int64(i%2+1))
		assert.Assert(t, a.ResourcePerAlloc == rm.placed[i%2].ResourcePerAlloc)
	}
	// Any number of different amounts is told right.
	for i := range int64(5 * sharedMax) {
		amounts := resources.Amounts{}
		amounts.Set(vcore, i)
		assert.Equal(t, d.messages.resource(amounts).Resources["vcore"].GetValue(), i)
	}
}

// What waits for a callback is counted until it has returned, by partition.
func TestDeliveriesAreCountedByPartition(t *testing.T) {
	x := newOutbox(meter{})
	one, other := &owner{name: "one"}, &owner{name: "other"}
	put(x, one, core.Placed{Allocation: running("pod", "node")}, core.AskAdded{Allocation: running("ask", "")})
	put(x, other, &core.NodeAdded{ID: "node"}, &core.NodeAdded{ID: "node-2"})
	x.put(&step{Step: events.Step{Now: time.Unix(0, 0)}, from: one, recorded: true})
	x.putUnanswered(one, &unanswered{})
	assert.Equal(t, one.undelivered.Load(), int64(3))
	assert.Equal(t, other.undelivered.Load(), int64(2))
	assert.Equal(t, x.latest(), uint64(5))
	batch, open := x.take(nil)
	assert.Assert(t, open)
	x.done(batch[:2])
	assert.Equal(t, one.undelivered.Load(), int64(2))
	assert.Equal(t, other.undelivered.Load(), int64(1))
	x.done(batch[2:])
	assert.Equal(t, one.undelivered.Load()+other.undelivered.Load(), int64(0))
	assert.Equal(t, x.progress(), uint64(5))
}

// A callback that fails is logged, and what follows is delivered.
func TestACallbackThatFails(t *testing.T) {
	logs, seen := observer.New(zap.WarnLevel)
	rm, d, x := collecting()
	d.log, rm.fails = newEffectLog(newLoggers(zap.New(logs)), "rm"), errors.New("no")
	put(x, testOwner(), &core.NodeAdded{ID: "node"}, core.Placed{Allocation: running("pod", "node")})
	deliverAll(x, d)
	assert.Equal(t, len(rm.heard), 2)
	var failed []string
	for _, entry := range seen.FilterMessage("callback failed").All() {
		failed = append(failed, fmt.Sprint(entry.ContextMap()["callback"]))
	}
	assert.DeepEqual(t, failed, []string{"UpdateNode", "UpdateAllocation"})
}

// A placement shares its resources and its policy with others, so that its message is one
// piece of memory.
func TestAPlacementIsOnePiece(t *testing.T) {
	m := &messageMaker{kinds: new(resources.Kinds)}
	into := new(si.Allocation)
	for _, p := range []core.Preemptable{{Stated: true}, {Stated: true, AllowSelf: true}, {Stated: true, AllowOthers: true}, {Stated: true, AllowSelf: true, AllowOthers: true}} {
		a := &core.Allocation{Key: "a", Application: "app", Node: "node", Preemptable: p}
		m.placement("default", a, into)
		assert.Equal(t, into.PreemptionPolicy.AllowPreemptSelf, p.AllowSelf)
		assert.Equal(t, into.PreemptionPolicy.AllowPreemptOther, p.AllowOthers)
		assert.Equal(t, testing.AllocsPerRun(10, func() { m.placement("default", a, into) }), 0.0)
	}
}
