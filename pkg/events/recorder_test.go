package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// working is a world with a node, an application with a running allocation a1
// and one that waits, a9.
func working(t *testing.T) *world {
	w := newWorld(t, tree(leaf("a"), leaf("default")))
	w.record(&api.Reconfigured{After: tree(leaf("a"), leaf("default")).Root})
	w.apply(api.AddNode{ID: "n1", Capacity: amounts(10, 0)})
	w.apply(api.AddApplication{ID: "app", Queue: "root.a"})
	w.apply(ask("app", "a1", 4))
	w.apply(ask("app", "a9", 9))
	w.after(0)
	return w
}

func TestRecordsOfAnApplication(t *testing.T) {
	w := newWorld(t, tree(leaf("a"), leaf("default")))
	w.record(&api.Reconfigured{After: tree(leaf("a"), leaf("default")).Root})
	w.says(w.apply(api.AddNode{ID: "n1", Capacity: amounts(10, 0)}), `
		NODE n1 ADD {vcore=10}
		NODE n1 SET NODE_SCHEDULABLE "schedulable: true"
		QUEUE root SET QUEUE_MAX {vcore=10}`)
	w.says(w.apply(api.AddApplication{ID: "app", Queue: "A"}), `
		APP app ADD APP_NEW
		QUEUE root.a ADD QUEUE_APP app`)
	w.says(w.apply(ask("app", "a1", 4)), `
		APP app SET APP_ACCEPTED
		APP app ADD APP_REQUEST a1 {vcore=4}`)
	w.says(w.after(0), `
		APP app SET APP_RUNNING
		NODE n1 ADD NODE_ALLOC a1 {vcore=4}
		APP app ADD APP_ALLOC a1 {vcore=4}`)
	w.says(w.apply(release("app", "a1", si.TerminationType_STOPPED_BY_RM)), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_CANCEL a1 {vcore=4}
		APP app SET APP_COMPLETING "nothing is left to run"`)
	w.says(w.after(time.Minute), `
		APP app SET APP_COMPLETED
		APP app REMOVE
		QUEUE root.a REMOVE QUEUE_APP app`)
	w.says(w.apply(api.RemoveApplication{ID: "app"}), ``)
}

// An application that is refused has its records; one with the same ID that goes on
// does not change.
func TestRefusedApplications(t *testing.T) {
	w := working(t)
	w.says(w.apply(api.AddApplication{ID: "lost", Queue: "root.nowhere"}), `
		APP lost ADD APP_NEW
		APP lost SET APP_REJECT "application lost: queue root.nowhere does not exist: there is no \"nowhere\" in root"`)
	w.says(w.apply(api.AddApplication{ID: "app", Queue: "root.a"}), `
		APP app ADD APP_NEW
		APP app SET APP_REJECT "application app is registered already"`)
	w.says(w.apply(release("app", "a9", si.TerminationType_STOPPED_BY_RM)), `APP app REMOVE REQUEST_CANCEL a9 {vcore=9}`)
}

func TestApplicationsThatNameNoQueueAreInTheDefaultQueue(t *testing.T) {
	w := working(t)
	w.says(w.apply(api.AddApplication{ID: "other"}), `
		APP other ADD APP_NEW
		QUEUE root.default ADD QUEUE_APP other`)
}

// The record of an end says why it ended.
func TestHowAllocationsEnd(t *testing.T) {
	for termination, detail := range map[si.TerminationType]string{
		si.TerminationType_STOPPED_BY_RM:            "ALLOC_CANCEL",
		si.TerminationType_UNKNOWN_TERMINATION_TYPE: "ALLOC_CANCEL",
		si.TerminationType_TIMEOUT:                  "ALLOC_TIMEOUT",
		si.TerminationType_PREEMPTED_BY_SCHEDULER:   "ALLOC_PREEMPT",
		si.TerminationType_PLACEHOLDER_REPLACED:     "ALLOC_REPLACED",
	} {
		t.Run(detail, func(t *testing.T) {
			w := working(t)
			w.says(w.apply(release("app", "a1", termination)), `
				NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
				APP app REMOVE `+detail+` a1 {vcore=4}`)
			w.says(w.apply(release("app", "a1", termination)), ``)
		})
	}
}

func TestHowAsksEnd(t *testing.T) {
	w := working(t)
	w.apply(ask("app", "a8", 8))
	w.says(w.apply(release("other", "a8", si.TerminationType_STOPPED_BY_RM)), ``)
	w.says(w.apply(release("app", "a8", si.TerminationType_TIMEOUT)), `APP app REMOVE REQUEST_TIMEOUT a8 {vcore=8}`)
	w.says(w.apply(release("app", "a9", si.TerminationType_STOPPED_BY_RM)), `APP app REMOVE REQUEST_CANCEL a9 {vcore=9}`)
}

func TestAllOfAnApplicationIsReleased(t *testing.T) {
	w := working(t)
	w.apply(ask("app", "a2", 1))
	w.after(0)
	w.says(w.apply(release("app", "", si.TerminationType_TIMEOUT)), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_TIMEOUT a1 {vcore=4}
		NODE n1 REMOVE NODE_ALLOC a2 {vcore=1}
		APP app REMOVE ALLOC_TIMEOUT a2 {vcore=1}`)
	w.says(w.after(0), `
		NODE n1 ADD NODE_ALLOC a9 {vcore=9}
		APP app ADD APP_ALLOC a9 {vcore=9}`)
	w.apply(ask("app", "a8", 8))
	w.says(w.apply(release("app", "", si.TerminationType_STOPPED_BY_RM)), `
		NODE n1 REMOVE NODE_ALLOC a9 {vcore=9}
		APP app REMOVE ALLOC_CANCEL a9 {vcore=9}
		APP app REMOVE REQUEST_CANCEL a8 {vcore=8}
		APP app SET APP_COMPLETING "nothing is left to run"`)
}

// In what order asks came is not the order in which they go.
func TestInTheOrderOfKeys(t *testing.T) {
	w := working(t)
	for _, key := range []string{"z", "x", "y"} {
		w.apply(ask("app", key, 9))
	}
	w.apply(release("app", "a1", si.TerminationType_STOPPED_BY_RM))
	w.apply(release("app", "a9", si.TerminationType_STOPPED_BY_RM))
	w.says(w.apply(release("app", "", si.TerminationType_STOPPED_BY_RM)), `
		APP app REMOVE REQUEST_CANCEL x {vcore=9}
		APP app REMOVE REQUEST_CANCEL y {vcore=9}
		APP app REMOVE REQUEST_CANCEL z {vcore=9}
		APP app SET APP_COMPLETING "nothing is left to run"`)
}

func TestAnApplicationIsRemoved(t *testing.T) {
	w := working(t)
	w.says(w.apply(api.RemoveApplication{ID: "app"}), `
		APP app REMOVE REQUEST_CANCEL a9 {vcore=9}
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_CANCEL a1 {vcore=4} "application app was removed"
		APP app REMOVE
		QUEUE root.a REMOVE QUEUE_APP app`)
}

func TestANodeIsRemoved(t *testing.T) {
	w := working(t)
	w.says(w.apply(api.RemoveNode{ID: "n1"}), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_NODEREMOVED a1 {vcore=4} "node n1 was removed"
		NODE n1 REMOVE NODE_DECOMISSION
		QUEUE root SET QUEUE_MAX {}`)
}

func TestRefusedNodesAreNotAdded(t *testing.T) {
	w := working(t)
	w.says(w.apply(api.AddNode{ID: "n1", Capacity: amounts(99, 0)}), ``)
	w.says(w.apply(api.AddNode{ID: "n2", Capacity: amounts(-1, 0)}), ``)
}

// An allocation that runs already was never asked for.
func TestAdopted(t *testing.T) {
	w := newWorld(t, tree(leaf("a")))
	w.apply(api.AddNode{ID: "n1", Capacity: amounts(10, 0)})
	w.apply(api.AddApplication{ID: "app", Queue: "root.a"})
	adopted := ask("app", "a1", 4)
	adopted.Allocation.Node = "n1"
	w.says(w.apply(adopted), `
		APP app SET APP_ACCEPTED
		APP app SET APP_RUNNING
		NODE n1 ADD NODE_ALLOC a1 {vcore=4}
		APP app ADD APP_ALLOC a1 {vcore=4}`)
}

func TestRefusedAsksAreNotAdded(t *testing.T) {
	w := working(t)
	w.says(w.apply(ask("unknown", "b1", 1)), ``)
	w.says(w.apply(ask("app", "b1", 0)), ``)
	w.says(w.apply(release("app", "b1", si.TerminationType_STOPPED_BY_RM)), ``)
}

// Other amounts are not recorded, but later records have them.
func TestResized(t *testing.T) {
	w := working(t)
	w.says(w.apply(ask("app", "a1", 3)), ``)
	w.says(w.apply(ask("app", "a9", 8)), ``)
	w.says(w.apply(ask("app", "a9", -8)), ``)
	both := ask("app", "a7", 7)
	both.Allocation.Amounts = amounts(7, 7)
	w.says(w.apply(both), `APP app ADD APP_REQUEST a7 {memory=7 vcore=7}`)
	w.says(w.apply(ask("app", "a7", 7)), ``)
	w.says(w.apply(release("app", "a7", si.TerminationType_STOPPED_BY_RM)), `APP app REMOVE REQUEST_CANCEL a7 {vcore=7}`)
	w.says(w.apply(release("app", "a1", si.TerminationType_STOPPED_BY_RM)), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=3}
		APP app REMOVE ALLOC_CANCEL a1 {vcore=3}`)
	w.says(w.after(0), `
		NODE n1 ADD NODE_ALLOC a9 {vcore=8}
		APP app ADD APP_ALLOC a9 {vcore=8}`)
}

func TestAnAllocationThatIsNotBoundWaitsAgain(t *testing.T) {
	w := working(t)
	failed := release("app", "a1", api.SchedulingFailed)
	failed.Message = "volume not found"
	w.says(w.apply(failed), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_CANCEL a1 {vcore=4} "volume not found"
		APP app ADD APP_REQUEST a1 {vcore=4}`)
	w.says(w.apply(failed), ``)
}

// A foreign allocation is recorded on its node only, and a node that is removed has
// none any more.
func TestForeign(t *testing.T) {
	w := working(t)
	w.says(w.apply(api.AddAllocation{Allocation: &api.Allocation{
		Key: "f1", Node: "n1", Amounts: amounts(1, 0), Origin: api.Foreign,
	}}), `NODE n1 ADD NODE_ALLOC f1 {vcore=1} "foreign"`)
	w.says(w.apply(release("", "f1", si.TerminationType_STOPPED_BY_RM)), `NODE n1 REMOVE NODE_ALLOC f1 {vcore=1} "foreign"`)
	static := func(vcore int64) string {
		return w.apply(api.AddAllocation{Allocation: &api.Allocation{Key: "f2", Node: "n1", Amounts: amounts(vcore, 0), Origin: api.Static}})
	}
	w.says(static(1), `NODE n1 ADD NODE_ALLOC f2 {vcore=1} "foreign, static"`)
	w.says(static(2), `
		NODE n1 REMOVE NODE_ALLOC f2 {vcore=1} "foreign, static"
		NODE n1 ADD NODE_ALLOC f2 {vcore=2} "foreign, static"`)
	w.apply(release("app", "", si.TerminationType_STOPPED_BY_RM))
	w.says(w.apply(api.RemoveNode{ID: "n1"}), `
		NODE n1 REMOVE NODE_ALLOC f2 {vcore=2} "foreign, static"
		NODE n1 REMOVE NODE_DECOMISSION
		QUEUE root SET QUEUE_MAX {}`)
}

// A victim runs until the resource manager says that it does not.
func TestPreempted(t *testing.T) {
	w := working(t)
	w.apply(release("app", "a9", si.TerminationType_STOPPED_BY_RM))
	daemon := ask("app", "d1", 8)
	daemon.Allocation.Required = "n1"
	daemon.Allocation.Priority = 100
	w.apply(daemon)
	w.says(w.after(0), `NODE n1 ADD NODE_RESERVATION d1 {vcore=8}`)
	w.says(w.after(time.Second), `REQUEST d1 NONE app {vcore=8} "waits for room on required node n1: too young: needs vcore=2"`)
	evicted := w.after(time.Minute)
	assert.Equal(t, strings.Count(evicted, "\n"), 1)
	assert.Assert(t, strings.HasPrefix(evicted, "REQUEST a1 REMOVE ALLOC_PREEMPT app {vcore=4}"), evicted)
	w.says(w.apply(release("app", "a1", si.TerminationType_PREEMPTED_BY_SCHEDULER)), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_PREEMPT a1 {vcore=4}`)
}

// That no node can take an ask is recorded once the resource manager hears of it.
func TestWaiting(t *testing.T) {
	w := working(t)
	w.says(w.after(time.Second), `
		REQUEST a9 NONE app {vcore=9} "no node can take the request: waiting for room in the cluster"`)
	w.says(w.after(10*time.Second), `NODE n1 ADD NODE_RESERVATION a9 {vcore=9}`)
}

func TestConfigurations(t *testing.T) {
	w := newWorld(t, tree())
	configure := func(c api.Config) string { return w.apply(api.Reconfigure{Config: c}) }
	w.says(w.record(&api.Reconfigured{After: tree().Root}), `QUEUE root ADD`)
	b := api.QueueConfig{Name: "b", Max: resources.Limits{10, 0}, Guaranteed: amounts(5, 0)}
	w.says(configure(api.Config{Root: leaf("root")}), ``)
	w.says(configure(tree(leaf("a"), api.QueueConfig{Name: "p", Queues: []api.QueueConfig{b}})), `
		QUEUE root.a ADD
		QUEUE root.p ADD
		QUEUE root.p.b ADD
		QUEUE root.p.b SET QUEUE_MAX {memory=0 vcore=10}
		QUEUE root.p.b SET QUEUE_GUARANTEED {vcore=5}`)
	w.says(configure(tree(leaf("a"), api.QueueConfig{Name: "p", Queues: []api.QueueConfig{b}})), ``)
	b.Max, b.Guaranteed = resources.Limits{resources.Unlimited, 7}, nil
	root := tree(api.QueueConfig{Name: "p", Queues: []api.QueueConfig{b}}, api.QueueConfig{Name: "a", Parent: true})
	root.Root.Max = resources.Limits{100}
	w.says(configure(root), `
		QUEUE root SET QUEUE_MAX {vcore=100} "before: what the nodes have"
		QUEUE root.p.b SET QUEUE_MAX {memory=7} "before: memory=0 vcore=10"
		QUEUE root.p.b SET QUEUE_GUARANTEED {} "before: vcore=5"
		QUEUE root.a SET QUEUE_TYPE "leaf queue: false"`)
	const gone = ` "no longer configured: takes nothing new, and goes when it is empty"`
	w.says(configure(tree(leaf("a"))), `
		QUEUE root SET QUEUE_MAX {} "before: vcore=100"
		QUEUE root.p.b REMOVE`+gone+`
		QUEUE root.p REMOVE`+gone+`
		QUEUE root.a SET QUEUE_TYPE "leaf queue: true"`)
	w.says(w.record(&api.Reconfigured{Before: tree(leaf("a")).Root}), `
		QUEUE root.a REMOVE`+gone+`
		QUEUE root REMOVE`+gone)
}

// Without a max of its own the root has what its nodes have, and the event says how
// much that is now.
func TestTheMaxOfTheRoot(t *testing.T) {
	w := working(t)
	w.says(w.apply(api.AddNode{ID: "n2", Capacity: amounts(2, 5)}), `
		NODE n2 ADD {memory=5 vcore=2}
		NODE n2 SET NODE_SCHEDULABLE "schedulable: true"
		QUEUE root SET QUEUE_MAX {memory=5 vcore=12}`)
	w.says(w.apply(api.UpdateNode{ID: "n1", Capacity: amounts(6, 0)}), `
		NODE n1 SET NODE_CAPACITY {vcore=6}
		QUEUE root SET QUEUE_MAX {memory=5 vcore=8}`)
	w.says(w.apply(api.AddNode{ID: "n2", Capacity: amounts(2, 5)}), ``) // refused
	limited := tree(leaf("a"), leaf("default"))
	limited.Root.Max = resources.Limits{3}
	w.says(w.apply(api.Reconfigure{Config: limited}), `QUEUE root SET QUEUE_MAX {vcore=3} "before: what the nodes have"`)
	w.says(w.apply(api.AddNode{ID: "n3", Capacity: amounts(1, 0)}), `
		NODE n3 ADD {vcore=1}
		NODE n3 SET NODE_SCHEDULABLE "schedulable: true"`)
	w.says(w.apply(api.Reconfigure{Config: tree(leaf("a"), leaf("default"))}), `QUEUE root SET QUEUE_MAX {memory=5 vcore=9} "before: vcore=3"`)
}

// A recorder that skips steps knows afterwards whether nodes change the max of the
// root.
func TestSkipped(t *testing.T) {
	w := newWorld(t, tree(leaf("a")))
	skip := func(effects ...api.Event) { w.recorder.Skip(events.Step{Now: w.now, Effects: effects}) }
	skip(&api.Reconfigured{After: tree(leaf("a")).Root})
	skip(w.partition.Apply(w.now, api.AddNode{ID: "n1", Capacity: amounts(10, 0)})...)
	w.says(w.apply(api.AddNode{ID: "n2", Capacity: amounts(3, 0)}), `
		NODE n2 ADD {vcore=3}
		NODE n2 SET NODE_SCHEDULABLE "schedulable: true"
		QUEUE root SET QUEUE_MAX {vcore=13}`)
	limited := tree(leaf("a"))
	limited.Root.Max = resources.Limits{3}
	skip(w.partition.Apply(w.now, api.Reconfigure{Config: limited})...)
	w.says(w.apply(api.RemoveNode{ID: "n2"}), `NODE n2 REMOVE NODE_DECOMISSION`)
}

// What is refused at the edge was in no partition.
func TestRefusedAtTheEdge(t *testing.T) {
	w := working(t)
	w.says(w.record(
		&api.ApplicationRejected{ID: "x", Reason: "no such partition"},
		&api.NodeRejected{ID: "n9"}, &api.AllocationRejected{Key: "k"},
	), `
		APP x ADD APP_NEW
		APP x SET APP_REJECT "no such partition"`)
}

// Reports for people are records of the ask, the application or the queue.
func TestReports(t *testing.T) {
	w := working(t)
	ask := &api.Allocation{Key: "a9", Application: "app", Amounts: amounts(9, 0)}
	w.says(w.record(
		&api.AskReport{Allocation: ask, Message: "no room is made"},
		&api.ApplicationReport{ID: "app", Key: "a9", Message: "it repeats itself"},
		&api.QueueReport{Queue: "root.a", Message: "uses more than its max", Freed: amounts(2, 0)},
	), `
		REQUEST a9 NONE app "no room is made"
		APP app NONE a9 "it repeats itself"
		QUEUE root.a SET QUEUE_PREEMPTION {vcore=2} "uses more than its max"`)
}
