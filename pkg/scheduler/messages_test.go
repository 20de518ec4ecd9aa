package scheduler

import (
	"errors"
	"fmt"
	"strings"
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
	"github.com/narwhal-scheduler/narwhal/pkg/internal/everyevent"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// collector is a resource manager that keeps the responses, one line for each.
type collector struct {
	siapi.ResourceManagerCallback
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

func (c *collector) AskWaits(args *AskWaitsArgs) { c.heard = append(c.heard, fmt.Sprint(*args)) }

func (c *collector) UpdateGroup(args *UpdateGroupArgs) { c.heard = append(c.heard, fmt.Sprint(*args)) }

func (c *collector) UpdateContainerSchedulingState(r *si.UpdateContainerSchedulingStateRequest) {
	_ = c.say("%v", r)
}

// collecting is a dispatcher that collects, and its outbox.
func collecting() (*collector, *dispatcher, *outbox) {
	c := new(collector)
	return c, &dispatcher{
		echoes:   true,
		callback: c, allocationsMax: 1, waits: c, groups: c, log: newEffectLog(newLoggers(zap.NewNop()), "rm"), messages: messageMaker{kinds: new(resources.Kinds)},
	}, newOutbox(meter{})
}

// Each event leads to one message, or to none.
func TestTheMessageOfEachEvent(t *testing.T) {
	a := &api.Allocation{Key: "pod", Application: "app", Node: "node", Priority: 7, TaskGroup: "group", Placeholder: true, Originator: true}
	foreign := &api.Allocation{Key: "other", Node: "node", Origin: api.Foreign}
	preemptable := &api.Allocation{Key: "pod", Application: "app", Node: "node", Preemptable: api.Preemptable{Stated: true, AllowSelf: true}}
	placed := `new:{allocationKey:"pod" resourcePerAlloc:{} priority:7 nodeID:"node" applicationID:"app" ` +
		`partitionName:"[rm]default" taskGroupName:"group" placeholder:true originator:true}`
	released := func(text string) string {
		return `released:{partitionName:"[rm]default" applicationID:"app" terminationType:STOPPED_BY_RM message:"` + text + `" allocationKey:"pod"}`
	}
	ended := func(cause api.EndCause) api.Event {
		return &api.Ended{Allocation: a, Cause: cause, Message: "text"}
	}
	for _, c := range []struct {
		event api.Event
		want  string // empty for none
	}{
		{api.Placed{Allocation: a}, placed},
		{api.Adopted{Allocation: a}, placed}, // to a resource manager that awaits an echo
		{api.Placed{Allocation: preemptable}, `new:{allocationKey:"pod" resourcePerAlloc:{} nodeID:"node" applicationID:"app" ` +
			`partitionName:"[rm]default" preemptionPolicy:{allowPreemptSelf:true}}`},
		{ended(api.CauseReleased), released("released as the resource manager asked")},
		{ended(api.CauseNodeRemoved), released("text")},
		{ended(api.CauseApplicationRemoved), released("text")},
		{ended(api.CauseTimedOut), ""},
		{ended(api.CausePreempted), ""},
		{ended(api.CauseReplaced), ""},
		{ended(api.CauseBindFailed), ""},
		{&api.EvictionRequested{Allocation: a, Message: "room"}, `released:{partitionName:"[rm]default" applicationID:"app" ` +
			`terminationType:PREEMPTED_BY_SCHEDULER message:"room" allocationKey:"pod"}`},
		{&api.EvictionRequested{Allocation: foreign, Message: "room"}, `released:{partitionName:"[rm]default" ` +
			`terminationType:PREEMPTED_BY_SCHEDULER message:"room" allocationKey:"other"}`},
		{&api.AllocationRejected{Key: "pod", Application: "app", Reason: "no"}, `rejectedAllocations:{allocationKey:"pod" applicationID:"app" reason:"no"}`},
		{&api.ApplicationAccepted{ID: "app", Queue: "root.a"}, `accepted:{applicationID:"app"}`},
		{&api.ApplicationRejected{ID: "app", Reason: "no"}, `rejected:{applicationID:"app" reason:"no"}`},
		{&api.ApplicationChanged{ID: "app", State: api.Running, Message: "m"}, `updated:{applicationID:"app" state:"Running" stateTransitionTimestamp:100000000000 message:"m"}`},
		{&api.NodeAdded{ID: "node"}, `accepted:{nodeID:"node"}`},
		{&api.NodeRejected{ID: "node", Reason: "no"}, `rejected:{nodeID:"node" reason:"no"}`},
		{&api.Unschedulable{Allocation: a, Reason: "full"}, `applicationID:"app" allocationKey:"pod" state:FAILED reason:"full"`},
		{&api.Claimed{Allocation: a, Node: "node", Reason: "room", Plan: new(preemptor.Decision)}, `applicationID:"app" allocationKey:"pod" state:RESERVED reason:"room"`},
		{
			&api.ClaimEnded{Allocation: a, Node: "node", Reason: "gone", Nominated: true, End: api.EndOfRoom},
			`applicationID:"app" allocationKey:"pod" state:SKIPPED reason:"no longer nominated to node node: gone"`,
		},
		{&api.ClaimEnded{Allocation: a, Node: "node", Reason: "placed", Nominated: true}, ""},
		{&reports.AskWaits{Allocation: a, Reason: api.QuotaExceeded, Message: "no"}, `{pod QuotaExceeded no}`},
		{&reports.AskWaits{Allocation: a, Reason: api.NoNodeFits, Message: "no"}, `{pod NoNodeFits no}`},
		{&reports.AskWaits{Allocation: a, Reason: api.NoNodeFits, MoreNodes: true, Message: "no"}, `{pod Unschedulable no}`},
		{&api.AskReport{Allocation: a, Why: new(api.Waiting), Message: "no"}, `{pod RequiredNodeNotReady no}`},
		{
			&api.GroupChanged{Name: "train", State: api.GroupIsBelow, Running: 3, Done: 1, Least: 8, Since: time.Unix(60, 0).UTC()},
			`{train BelowMinimum 3 1 8 [] 1970-01-01 00:01:00 +0000 UTC group train is below its minimum: 3 of 8 members run, 1 are done}`,
		},
		{api.AskAdded{Allocation: a}, ""},
		{api.AskResized{Allocation: a}, ""},
		{&api.AskEnded{Allocation: a}, ""},
		{&api.Resized{Allocation: a}, ""},
		{api.ForeignAdded{Allocation: foreign}, ""},
		{api.ForeignRemoved{Allocation: foreign}, ""},
		{&api.Claimed{Allocation: a}, ""},
		{&api.ClaimEnded{Allocation: a, End: api.EndOfRoom}, ""},
		{&api.PreemptionPlanned{}, ""},
		{&api.AskReport{Allocation: a}, ""},
		{&api.ApplicationReport{}, ""},
		{&api.QueueReport{}, ""},
		{&api.EvictionOverdue{}, ""},
		{&outcomes.VictimsWasted{}, ""},
		{&api.ApplicationGone{}, ""},
		{&api.ApplicationGroup{}, ""},
		{&api.ApplicationHeld{}, ""},
		{&api.NodeResized{}, ""},
		{&api.NodeAttributes{}, ""},
		{&api.NodeSchedulable{}, ""},
		{&api.NodeRemoved{}, ""},
		{&api.QueueAdded{}, ""},
		{&api.QueueRemoved{}, ""},
		{&api.Reconfigured{}, ""},
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
			if _, is := event.(*api.NodeAdded); is {
				want = 2 // that it is there, and whether it is schedulable
			}
			assert.Equal(t, len(events.Records(new(resources.Kinds), time.Time{}, event)), want, "%T", event)
		}
	}
	assert.DeepEqual(t, recorded, []string{
		"api.EvictionRequested", "api.ForeignAdded", "api.ForeignRemoved", "api.Claimed", "api.ClaimEnded", "api.AskReport", "reports.AskWaits", "api.ApplicationReport", "api.QueueReport", "outcomes.VictimsWasted",
		"api.ApplicationHeld", "api.GroupChanged",
		"api.NodeAdded", "api.NodeResized", "api.NodeSchedulable", "api.NodeRemoved",
		"api.QueueAdded", "api.QueueRemoved",
	})
}

// Messages of one kind share a response, from one step to the next and over partitions;
// different kinds never do. Placements share one as far as is configured.
func TestResponsesAreShared(t *testing.T) {
	placed := api.Placed{Allocation: running("pod", "node")}
	evicted := &api.EvictionRequested{Allocation: running("victim", "node")}
	ended := &api.Ended{Allocation: running("pod", "node")}
	rejected := &api.AllocationRejected{Key: "pod"}
	node := &api.NodeAdded{ID: "node"}
	for _, c := range []struct {
		name   string
		most   int
		events api.Effects
		want   []int
	}{
		{"placements one by one", 1, api.Effects{placed, placed, placed}, []int{1, 1, 1}},
		{"placements by two", 2, api.Effects{placed, placed, placed, node, placed}, []int{2, 1, 1, 1}},
		{"ends of all kinds", 1, api.Effects{evicted, ended, evicted, rejected, rejected, ended}, []int{3, 2, 1}},
		{"events without a message", 1, api.Effects{node, api.AskAdded{Allocation: running("pod", "")}, node}, []int{2}},
		{"one kind between", 1, api.Effects{rejected, node, rejected}, []int{1, 1, 1}},
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
		a := running(api.AllocationKey(fmt.Sprint(i)), "node")
		a.Amounts = amounts
		put(x, testOwner(), api.Placed{Allocation: a})
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
	put(x, one, api.Placed{Allocation: running("pod", "node")}, api.AskAdded{Allocation: running("ask", "")})
	put(x, other, &api.NodeAdded{ID: "node"}, &api.NodeAdded{ID: "node-2"})
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
	put(x, testOwner(), &api.NodeAdded{ID: "node"}, api.Placed{Allocation: running("pod", "node")})
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
	for _, p := range []api.Preemptable{{Stated: true}, {Stated: true, AllowSelf: true}, {Stated: true, AllowOthers: true}, {Stated: true, AllowSelf: true, AllowOthers: true}} {
		a := &api.Allocation{Key: "a", Application: "app", Node: "node", Preemptable: p}
		m.placement("default", a, into)
		assert.Equal(t, into.PreemptionPolicy.AllowPreemptSelf, p.AllowSelf)
		assert.Equal(t, into.PreemptionPolicy.AllowPreemptOther, p.AllowOthers)
		assert.Equal(t, testing.AllocsPerRun(10, func() { m.placement("default", a, into) }), 0.0)
	}
}

// Each reason has a word for conditions.
func TestWaitReasons(t *testing.T) {
	for reason := range api.Reasons {
		assert.Assert(t, waitReasons[reason] != "", "%s", reason)
	}
}
