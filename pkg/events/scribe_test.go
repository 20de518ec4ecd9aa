package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// working is a world with a node, an application with a running allocation a1
// and one that waits, a9.
func working(t *testing.T) *world {
	w := newWorld(t, tree(leaf("a"), leaf("default")))
	w.apply(core.Reconfigure{Config: tree(leaf("a"), leaf("default"))})
	w.apply(core.AddNode{ID: "n1", Capacity: amounts(10, 0)})
	w.apply(core.AddApplication{ID: "app", Queue: "root.a"})
	w.apply(ask("app", "a1", 4))
	w.apply(ask("app", "a9", 9))
	w.after(0)
	return w
}

func TestTheLifeOfAnApplication(t *testing.T) {
	w := newWorld(t, tree(leaf("a"), leaf("default")))
	w.apply(core.Reconfigure{Config: tree(leaf("a"), leaf("default"))})
	w.says(w.apply(core.AddNode{ID: "n1", Capacity: amounts(10, 0)}), `
		NODE n1 ADD {vcore=10}
		QUEUE root SET QUEUE_MAX {vcore=10}`)
	w.says(w.apply(core.AddApplication{ID: "app", Queue: "A"}), `
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
	w.says(w.apply(core.RemoveApplication{ID: "app"}), ``)
}

// Of an application that is refused all is told, of one that has its ID nothing
// changes.
func TestRefusedApplications(t *testing.T) {
	w := working(t)
	w.says(w.apply(core.AddApplication{ID: "lost", Queue: "root.nowhere"}), `
		APP lost ADD APP_NEW
		APP lost SET APP_REJECT "application lost: queue root.nowhere does not exist: there is no \"nowhere\" in root"`)
	w.says(w.apply(core.AddApplication{ID: "app", Queue: "root.a"}), `
		APP app ADD APP_NEW
		APP app SET APP_REJECT "application app is registered already"`)
	w.says(w.apply(release("app", "a9", si.TerminationType_STOPPED_BY_RM)), `APP app REMOVE REQUEST_CANCEL a9 {vcore=9}`)
}

func TestApplicationsWithoutAWishAreInTheDefaultQueue(t *testing.T) {
	w := working(t)
	w.says(w.apply(core.AddApplication{ID: "other"}), `
		APP other ADD APP_NEW
		QUEUE root.default ADD QUEUE_APP other`)
}

// A release that the core wished for is answered by silence, so it is the
// command that tells how the allocation ended.
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

// That another one is refused is nothing to an ask.
func TestARefusalOfAnother(t *testing.T) {
	w := working(t)
	w.says(w.tell(ask("app", "a2", 2), core.Effects{&si.RejectedAllocation{AllocationKey: "a3"}}), `
		APP app ADD APP_REQUEST a2 {vcore=2}`)
}

// A release of an allocation is nothing to an ask.
func TestAReleaseOfWhatDoesNotRun(t *testing.T) {
	w := working(t)
	w.says(w.tell(nil, core.Effects{&si.AllocationRelease{
		ApplicationID: "app", AllocationKey: "a9", TerminationType: si.TerminationType_STOPPED_BY_RM,
	}}), ``)
	w.says(w.apply(release("app", "a9", si.TerminationType_STOPPED_BY_RM)), `APP app REMOVE REQUEST_CANCEL a9 {vcore=9}`)
}

func TestAnApplicationIsRemoved(t *testing.T) {
	w := working(t)
	w.says(w.apply(core.RemoveApplication{ID: "app"}), `
		APP app REMOVE REQUEST_CANCEL a9 {vcore=9}
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_CANCEL a1 {vcore=4} "application app was removed"
		APP app REMOVE
		QUEUE root.a REMOVE QUEUE_APP app`)
}

func TestANodeIsRemoved(t *testing.T) {
	w := working(t)
	w.says(w.apply(core.RemoveNode{ID: "n1"}), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_NODEREMOVED a1 {vcore=4} "node n1 was removed"
		NODE n1 REMOVE NODE_DECOMISSION
		QUEUE root SET QUEUE_MAX {}`)
}

func TestRefusedNodesAreNotAdded(t *testing.T) {
	w := working(t)
	w.says(w.apply(core.AddNode{ID: "n1", Capacity: amounts(99, 0)}), ``)
	w.says(w.apply(core.AddNode{ID: "n2", Capacity: amounts(-1, 0)}), ``)
}

// An allocation that runs already was never asked for.
func TestAdopted(t *testing.T) {
	w := newWorld(t, tree(leaf("a")))
	w.apply(core.AddNode{ID: "n1", Capacity: amounts(10, 0)})
	w.apply(core.AddApplication{ID: "app", Queue: "root.a"})
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
	w.says(w.apply(ask("nobody", "b1", 1)), ``)
	w.says(w.apply(ask("app", "b1", 0)), ``)
	w.says(w.apply(release("app", "b1", si.TerminationType_STOPPED_BY_RM)), ``)
}

// Other amounts are no news, but what is told later goes by them.
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
	failed := release("app", "a1", core.SchedulingFailed)
	failed.Message = "volume not found"
	w.says(w.apply(failed), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_CANCEL a1 {vcore=4} "volume not found"
		APP app ADD APP_REQUEST a1 {vcore=4}`)
	w.says(w.apply(failed), ``)
}

// Foreign allocations are recorded by the core, and by nobody else.
func TestForeign(t *testing.T) {
	w := working(t)
	w.says(w.apply(core.AddAllocation{Allocation: &core.Allocation{
		Key: "f1", Node: "n1", Amounts: amounts(1, 0), Origin: core.Foreign,
	}}), `NODE n1 ADD NODE_ALLOC f1 {vcore=1} "foreign"`)
	w.says(w.apply(release("", "f1", si.TerminationType_STOPPED_BY_RM)), `NODE n1 REMOVE NODE_ALLOC f1 {vcore=1} "foreign"`)
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
	told := w.after(time.Minute)
	assert.Equal(t, strings.Count(told, "\n"), 1)
	assert.Assert(t, strings.HasPrefix(told, "REQUEST a1 REMOVE ALLOC_PREEMPT app {vcore=4}"), told)
	w.says(w.apply(release("app", "a1", si.TerminationType_PREEMPTED_BY_SCHEDULER)), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_PREEMPT a1 {vcore=4}`)
}

// Why an ask waits is told once the resource manager hears of it.
func TestWaiting(t *testing.T) {
	w := working(t)
	w.says(w.after(time.Second), `
		REQUEST a9 NONE app {vcore=9} "no node can take the request: waiting for room in the cluster"`)
	w.says(w.after(10*time.Second), `NODE n1 ADD NODE_RESERVATION a9 {vcore=9}`)
}

func TestConfigurations(t *testing.T) {
	w := newWorld(t, tree())
	configure := func(c core.Config) string { return w.apply(core.Reconfigure{Config: c}) }
	b := core.QueueConfig{Name: "b", Max: resources.Limits{10, 0}, Guaranteed: amounts(5, 0)}
	w.says(configure(core.Config{Root: leaf("root")}), `QUEUE root ADD`)
	w.says(configure(tree(leaf("a"), core.QueueConfig{Name: "p", Queues: []core.QueueConfig{b}})), `
		QUEUE root.a ADD
		QUEUE root.p ADD
		QUEUE root.p.b ADD
		QUEUE root.p.b SET QUEUE_MAX {memory=0 vcore=10}
		QUEUE root.p.b SET QUEUE_GUARANTEED {vcore=5}`)
	w.says(configure(tree(leaf("a"), core.QueueConfig{Name: "p", Queues: []core.QueueConfig{b}})), ``)
	b.Max, b.Guaranteed = resources.Limits{resources.Unlimited, 7}, nil
	root := tree(core.QueueConfig{Name: "p", Queues: []core.QueueConfig{b}}, core.QueueConfig{Name: "a", Parent: true})
	root.Root.Max = resources.Limits{100}
	w.says(configure(root), `
		QUEUE root SET QUEUE_MAX {vcore=100}
		QUEUE root.p.b SET QUEUE_MAX {memory=7}
		QUEUE root.p.b SET QUEUE_GUARANTEED {}
		QUEUE root.a SET QUEUE_TYPE "leaf queue: false"`)
	const gone = ` "no longer configured: takes nothing new, and goes when it is empty"`
	w.says(configure(tree(leaf("a"))), `
		QUEUE root SET QUEUE_MAX {}
		QUEUE root.p.b REMOVE`+gone+`
		QUEUE root.p REMOVE`+gone+`
		QUEUE root.a SET QUEUE_TYPE "leaf queue: true"`)
	w.says(w.tell(core.Reconfigure{}, nil), `
		QUEUE root.a REMOVE`+gone+`
		QUEUE root REMOVE`+gone)
}

// Without a max of its own the root has what its nodes have, and the event says how
// much that is now.
func TestTheMaxOfTheRoot(t *testing.T) {
	w := working(t)
	w.says(w.apply(core.AddNode{ID: "n2", Capacity: amounts(2, 5)}), `
		NODE n2 ADD {memory=5 vcore=2}
		QUEUE root SET QUEUE_MAX {memory=5 vcore=12}`)
	w.says(w.apply(core.UpdateNode{ID: "n1", Capacity: amounts(6, 0)}), `
		NODE n1 SET NODE_CAPACITY {vcore=6}
		QUEUE root SET QUEUE_MAX {memory=5 vcore=8}`)
	w.says(w.apply(core.AddNode{ID: "n2", Capacity: amounts(2, 5)}), ``) // refused
	limited := tree(leaf("a"), leaf("default"))
	limited.Root.Max = resources.Limits{3}
	w.says(w.apply(core.Reconfigure{Config: limited}), `QUEUE root SET QUEUE_MAX {vcore=3}`)
	w.says(w.apply(core.AddNode{ID: "n3", Capacity: amounts(1, 0)}), `NODE n3 ADD {vcore=1}`)
	w.says(w.apply(core.Reconfigure{Config: tree(leaf("a"), leaf("default"))}), `QUEUE root SET QUEUE_MAX {memory=5 vcore=9}`)
}

// A scribe that follows knows what it needs to when it is asked to tell again.
func TestFollowed(t *testing.T) {
	w := newWorld(t, tree(leaf("a")))
	follow := func(c core.Command) {
		w.scribe.Skip(events.Step{Now: w.now, Command: c, Effects: w.partition.Apply(w.now, c)})
	}
	follow(core.Reconfigure{Config: tree(leaf("a"))})
	follow(core.AddNode{ID: "n1", Capacity: amounts(10, 0)})
	follow(core.AddApplication{ID: "app", Queue: "a"})
	follow(ask("app", "a1", 4))
	effects, _ := w.partition.Schedule(w.now)
	w.scribe.Skip(events.Step{Now: w.now, Effects: effects})
	w.says(w.apply(release("app", "a1", si.TerminationType_PREEMPTED_BY_SCHEDULER)), `
		NODE n1 REMOVE NODE_ALLOC a1 {vcore=4}
		APP app REMOVE ALLOC_PREEMPT a1 {vcore=4}
		APP app SET APP_COMPLETING "nothing is left to run"`)
	w.says(w.apply(core.Reconfigure{Config: tree(leaf("a"))}), ``)
}

// What a step without a command says was seen by no partition.
func TestRefusedAtTheEdge(t *testing.T) {
	w := working(t)
	w.says(w.tell(nil, core.Effects{
		&si.RejectedApplication{ApplicationID: "x", Reason: "no such partition"},
		&si.RejectedNode{NodeID: "n9"}, &si.RejectedAllocation{AllocationKey: "k"}, "something else",
	}), `
		APP x ADD APP_NEW
		APP x SET APP_REJECT "no such partition"`)
}

// The records are appended to what is given, and a placement costs one piece
// of memory: both records of it.
func TestAPlacementIsOnePieceOfMemory(t *testing.T) {
	w := working(t)
	placed := events.Step{Now: w.now, Effects: core.Effects{&si.Allocation{
		AllocationKey: "a1", ApplicationID: "app", NodeID: "n1", ResourcePerAlloc: core.ResourceOf(w.kinds, amounts(4, 0)),
	}}}
	var records []*si.EventRecord
	assert.Equal(t, testing.AllocsPerRun(100, func() { records = w.scribe.Record(records[:0], placed) }), 1.0)
	records = w.scribe.Record(records, placed)
	assert.Equal(t, len(records), 4)
	assert.Equal(t, testing.AllocsPerRun(100, func() { w.scribe.Skip(placed) }), 0.0)
}
