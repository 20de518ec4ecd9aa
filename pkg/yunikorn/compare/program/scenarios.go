package main

import (
	"fmt"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// A scenario is what happens in a partition of a configuration. Its applications are named after it.
type scenario struct {
	config string
	play   func(w *world)
}

// The top of all configurations. The limits of one user stand in all of them, since yunikorn-core keeps those of one
// partition for each path of a queue.
const top = `
queues:
- name: root
  submitacl: '*'
  queues:
  - name: one
    limits:
    - {limit: one, users: [limits], maxresources: {vcore: 2}, maxapplications: 1}
`

// One leaf queue.
const plain = top

// scenarios are all of them, by the names of their partitions.
func scenarios() map[string]scenario {
	return map[string]scenario{
		"placed":    {plain, placed},
		"priority":  {plain, moreImportant},
		"guarantee": {guaranteed, underGuarantee},
		"important": {guaranteed, func(w *world) { victimsOf(w, priority(100)) }},
		"optedout":  {guaranteed, func(w *world) { victimsOf(w, optedOut) }},
		"fenced":    {fenced, func(w *world) { victimsOf(w, func(*si.Allocation) {}) }},
		"protected": {protected, func(w *world) { victimsOf(w, func(*si.Allocation) {}) }},
		"ownqueue":  {guaranteed, inOwnQueue},
		"daemonset": {plain, func(w *world) { ofDaemonset(w, 2) }},
		"chosen":    {plain, victimsChosen},
		"full":      {plain, func(w *world) { ofDaemonset(w, 1) }},
		"gang":      {plain, gangRuns},
		"soft":      {plain, func(w *world) { gangTimesOut(w, "Soft") }},
		"hard":      {plain, func(w *world) { gangTimesOut(w, "Hard") }},
		"whole":     {plain, wholeGangTimesOut},
		"removed":   {plain, removed},
		"again":     {plain, removedAndAgain},
		"limits":    {plain, limitsHold},
		"quota":     {quotas, quotaHolds},
		"rules":     {ruled, rulesPlace},
		"nodes":     {plain, nodesChange},
		"recovered": {plain, recovered},
		"reload":    {reloaded + reloadedTwo, reload},
	}
}

// open is a node that is open from the beginning, as a shim reports it.
func (w *world) open(id string, n int64) {
	w.node(id, n, si.NodeInfo_CREATE_DRAIN)
	w.node(id, n, si.NodeInfo_DRAIN_TO_SCHEDULABLE)
}

func priority(p int32) func(*si.Allocation) { return func(a *si.Allocation) { a.Priority = p } }

func on(node string) func(*si.Allocation) { return func(a *si.Allocation) { a.NodeID = node } }

// placed: what fits runs, what does not waits until something has ended, and the application ends when it holds nothing.
func placed(w *world) {
	w.open("n", 4)
	w.application("placed.a", "root.one")
	w.ask("placed.a", "placed-1", 3)
	w.ask("placed.a", "placed-2", 2)
	w.show("application/placed.a", "applicationState", "usedResource", "maxUsedResource", "pendingResource", "queueName", "user")
	w.show("node/placed-n", "allocated", "available", "occupied", "utilized", "schedulable")
	w.end("placed.a", "placed-1")
	w.show("queue/root.one", "queuename", "allocatedResource", "pendingResource", "absUsedCapacity", "runningApps", "status", "isLeaf", "isManaged")
	w.end("placed.a", "placed-2")
	w.show("application/placed.a", "applicationState")
	w.show("placementrules", "name", "parameters")
}

// moreImportant: asks of a higher priority in the same leaf wait for what runs.
func moreImportant(w *world) {
	w.open("n", 3)
	w.application("priority.low", "root.one")
	for i := range 3 {
		w.ask("priority.low", fmt.Sprint("low-", i), 1)
	}
	w.application("priority.high", "root.one")
	for i := range 3 {
		w.ask("priority.high", fmt.Sprint("high-", i), 1, priority(100))
	}
	w.pass(3 * time.Second)
	w.end("priority.low", "low-0")
}

// A queue to which something is guaranteed, that may take it from the other one; that may not, as of its own policy or of
// that of the other one.
const (
	two        = "  - name: two\n    resources: {guaranteed: {vcore: 2}}\n"
	soon       = "    properties: {preemption.delay: 1s}\n"
	guaranteed = top + two + soon
	fenced     = top + two + "    properties: {preemption.delay: 1s, preemption.policy: fence}\n"
	protected  = top + "    properties: {preemption.policy: disabled}\n" + two + soon
)

// underGuarantee: a queue gets what is guaranteed to it, and not more.
func underGuarantee(w *world) {
	w.open("n", 4)
	w.application("guarantee.one", "root.one")
	for i := range 4 {
		w.ask("guarantee.one", fmt.Sprint("one-", i), 1)
	}
	w.pass(6 * time.Second) // what is new is left alone for a while
	w.application("guarantee.two", "root.two")
	w.step("three asks, and 6s", func() error { // the order of what follows is not compared
		for i := range 3 {
			if err := w.request("guarantee.two", fmt.Sprint("two-", i), 1); err != nil {
				return err
			}
		}
		time.Sleep(6 * time.Second)
		return nil
	})
	w.show("application/guarantee.two", "applicationState", "usedResource")
}

func optedOut(a *si.Allocation) { a.PreemptionPolicy.AllowPreemptSelf = false }

// victimsOf: a queue has less than is guaranteed to it, and what it could take is of some kind.
func victimsOf(w *world, kind func(*si.Allocation)) {
	w.open("n", 4)
	w.application(w.name+".one", "root.one")
	for i := range 4 {
		w.ask(w.name+".one", fmt.Sprint(w.name, "-one-", i), 1, kind)
	}
	w.pass(6 * time.Second)
	w.application(w.name+".two", "root.two")
	w.step("an ask, and 6s", func() error {
		if err := w.request(w.name+".two", w.name+"-two", 1); err != nil {
			return err
		}
		time.Sleep(6 * time.Second)
		return nil
	})
}

// inOwnQueue: a more important ask of a queue that has what is guaranteed to it, and one of a queue that has less while
// all the rest is of its own.
func inOwnQueue(w *world) {
	w.open("n", 2)
	w.application("ownqueue.low", "root.two")
	w.ask("ownqueue.low", "ownqueue-1", 1)
	w.ask("ownqueue.low", "ownqueue-2", 1)
	w.pass(6 * time.Second)
	w.application("ownqueue.high", "root.two")
	w.step("an ask, and 6s", func() error {
		if err := w.request("ownqueue.high", "ownqueue-3", 1, priority(100)); err != nil {
			return err
		}
		time.Sleep(6 * time.Second)
		return nil
	})
}

// ofDaemonset: an ask that can run on one node has less important allocations end there, with and without room on other nodes.
func ofDaemonset(w *world, nodes int) {
	w.open("n", 4)
	w.application(w.name+".one", "root.one")
	w.ask(w.name+".one", w.name+"-large", 3)
	w.ask(w.name+".one", w.name+"-small", 1)
	if nodes > 1 {
		w.open("other", 4)
	}
	w.pass(6 * time.Second) // nothing is ended just after a node has come
	w.application(w.name+".set", "root.one")
	w.ask(w.name+".set", w.name+"-agent", 1, priority(1), func(a *si.Allocation) {
		a.AllocationTags[common.DomainYuniKorn+common.KeyRequiredNode] = w.name + "-n"
	})
	w.pass(2 * time.Second)
}

// victimsChosen: of three allocations of several ages and sizes, those end that are enough.
func victimsChosen(w *world) {
	w.open("n", 5)
	w.application("chosen.one", "root.one")
	w.ask("chosen.one", "oldest", 1)
	w.ask("chosen.one", "large", 3)
	w.ask("chosen.one", "youngest", 1)
	w.open("other", 5)
	w.pass(6 * time.Second)
	w.application("chosen.set", "root.one")
	w.ask("chosen.set", "chosen-agent", 2, priority(1), func(a *si.Allocation) {
		a.AllocationTags[common.DomainYuniKorn+common.KeyRequiredNode] = "chosen-n"
	})
	w.pass(2 * time.Second)
}

func gang(style string, timeout time.Duration, n int64) func(*si.AddApplicationRequest) {
	return func(a *si.AddApplicationRequest) {
		a.GangSchedulingStyle, a.PlaceholderAsk, a.ExecutionTimeoutMilliSeconds = style, cores(n), timeout.Milliseconds()
	}
}

func member(placeholder bool) func(*si.Allocation) {
	return func(a *si.Allocation) { a.TaskGroupName, a.Placeholder = "group", placeholder }
}

// gangRuns: members take the places of placeholders.
func gangRuns(w *world) {
	w.open("n", 4)
	w.application("gang.a", "root.one", gang("Soft", time.Minute, 2))
	w.ask("gang.a", "p-1", 1, member(true))
	w.ask("gang.a", "p-2", 1, member(true))
	w.show("application/gang.a", "applicationState", "placeholderData")
	w.ask("gang.a", "m-1", 1, member(false))
	w.show("application/gang.a", "applicationState", "placeholderData", "usedResource")
	w.ask("gang.a", "m-2", 1, member(false))
	w.end("gang.a", "m-1")
	w.end("gang.a", "m-2")
	w.show("application/gang.a", "applicationState")
}

// gangTimesOut: placeholders of which one has no room end after their time.
func gangTimesOut(w *world, style string) {
	app := w.name + ".a"
	w.open("n", 1)
	w.application(app, "root.one", gang(style, 2*time.Second, 2))
	w.ask(app, w.name+"-p-1", 1, member(true))
	w.ask(app, w.name+"-p-2", 1, member(true))
	w.pass(4 * time.Second)
	w.show("application/"+app, "applicationState", "placeholderData")
	w.ask(app, w.name+"-m-1", 1, member(false))
	w.show("application/"+app, "applicationState", "usedResource")
}

// wholeGangTimesOut: all placeholders of a gang run, and no member has come when their time is over.
func wholeGangTimesOut(w *world) {
	w.open("n", 2)
	w.application("whole.a", "root.one", gang("Soft", 2*time.Second, 2))
	w.ask("whole.a", "whole-p-1", 1, member(true))
	w.ask("whole.a", "whole-p-2", 1, member(true))
	w.pass(4 * time.Second)
	w.show("application/whole.a", "applicationState", "usedResource")
	w.ask("whole.a", "whole-m-1", 1, member(false))
	w.show("application/whole.a", "applicationState", "usedResource")
}

// removed: a resource manager removes an application that completes, and one that runs.
func removed(w *world) {
	w.open("n", 4)
	w.application("removed.a", "root.one")
	w.ask("removed.a", "removed-1", 1)
	w.end("removed.a", "removed-1")
	w.show("application/removed.a", "applicationState")
	w.remove("removed.a")
	w.show("application/removed.a", "applicationState")
	w.application("removed.b", "root.one")
	w.ask("removed.b", "removed-2", 1)
	w.ask("removed.b", "removed-3", 9)
	w.remove("removed.b")
	w.show("application/removed.b", "applicationState")
	w.show("queue/root.one", "allocatedResource", "pendingResource", "runningApps")
	w.remove("removed.none")
}

// removedAndAgain: a resource manager removes an application that has asked for nothing, one whose ask waits, and a gang, and adds
// them again.
func removedAndAgain(w *world) {
	w.open("n", 2)
	w.application("again.new", "root.one")
	w.remove("again.new")
	w.application("again.waits", "root.one")
	w.ask("again.waits", "again-1", 9)
	w.remove("again.waits")
	w.application("again.gang", "root.one", gang("Soft", time.Minute, 2))
	w.ask("again.gang", "again-p-1", 1, member(true))
	w.remove("again.gang")
	w.show("queue/root.one", "allocatedResource", "pendingResource", "runningApps")
	w.application("again.waits", "root.one")
	w.ask("again.waits", "again-2", 1)
	w.application("again.gang", "root.one", gang("Soft", time.Minute, 1))
	w.ask("again.gang", "again-p-2", 1, member(true))
	w.show("applications/active", "applicationID", "applicationState")
}

// limitsHold: a user has no more than its limits, and applications above them wait.
func limitsHold(w *world) {
	w.open("n", 8)
	w.application("limits.a", "root.one")
	w.ask("limits.a", "limits-1", 1)
	w.ask("limits.a", "limits-2", 2)
	w.application("limits.b", "root.one")
	w.ask("limits.b", "limits-3", 1)
	w.show("usage/user/limits", "userName", "queues")
	w.end("limits.a", "limits-1")
}

const quotas = top + `    maxapplications: 2
    resources: {max: {vcore: 2}}
`

// quotaHolds: a queue has no more than its max, and an ask that is larger than it waits.
func quotaHolds(w *world) {
	w.open("n", 8)
	w.application("quota.a", "root.one")
	w.ask("quota.a", "quota-1", 1)
	w.ask("quota.a", "quota-2", 5)
	w.ask("quota.a", "quota-3", 1)
	w.ask("quota.a", "quota-4", 1)
	w.show("queue/root.one", "maxResource", "allocatedResource", "pendingResource", "headroom", "absUsedCapacity", "maxRunningApps")
	w.end("quota.a", "quota-1")
}

const ruled = `
placementrules:
- name: provided
- name: user
  create: true
  filter: {type: allow, users: [rules]}
- name: tag
  value: namespace
  create: true
` + top

// rulesPlace: the first rule that finds a queue wins.
func rulesPlace(w *world) {
	w.open("n", 8)
	by := func(user string) func(*si.AddApplicationRequest) {
		return func(a *si.AddApplicationRequest) { a.Ugi.User = user }
	}
	w.application("rules.a", "root.one")
	w.application("rules.b", "")
	w.application("rules.c", "", by("bert"))
	w.application("rules.d", "root.one.below")
	w.show("applications/active", "applicationID", "queueName")
	w.show("placementrules", "name", "parameters", "filter")
}

// nodesChange: a node that drains takes nothing new; one that goes takes its allocations with it.
func nodesChange(w *world) {
	w.open("n", 4)
	w.application("nodes.a", "root.one")
	w.ask("nodes.a", "nodes-1", 1)
	w.node("n", 4, si.NodeInfo_DRAIN_NODE)
	w.ask("nodes.a", "nodes-2", 1)
	w.show("node/nodes-n", "schedulable", "allocated", "available")
	w.node("n", 4, si.NodeInfo_DRAIN_TO_SCHEDULABLE)
	w.node("n", 1, si.NodeInfo_UPDATE)
	w.show("node/nodes-n", "capacity", "allocated", "available")
	w.node("n", 1, si.NodeInfo_DECOMISSION)
	w.show("application/nodes.a", "applicationState", "usedResource", "pendingResource")
}

// recovered: what runs is reported with its node, pods of others too.
func recovered(w *world) {
	w.node("n", 4, si.NodeInfo_CREATE_DRAIN)
	w.application("recovered.a", "root.one", func(a *si.AddApplicationRequest) { a.Tags[common.AppTagCreateForce] = "true" })
	w.ask("recovered.a", "recovered-1", 1, on("n"))
	w.ask("", "foreign-1", 1, on("n"), func(a *si.Allocation) { a.AllocationTags[common.Foreign] = common.AllocTypeDefault })
	w.node("n", 4, si.NodeInfo_DRAIN_TO_SCHEDULABLE)
	w.ask("recovered.a", "recovered-2", 3)
	w.show("node/recovered-n", "allocated", "occupied", "available")
	w.show("application/recovered.a", "applicationState", "usedResource")
	w.ask("", "foreign-1", 2, on("n"), func(a *si.Allocation) { a.AllocationTags[common.Foreign] = common.AllocTypeDefault })
	w.show("node/recovered-n", "occupied", "available")
	w.end("", "foreign-1")
	w.show("node/recovered-n", "occupied", "available")
}

// The queue two is taken out.
const (
	reloaded    = top
	reloadedTwo = "  - name: two\n"
)

// reload: a queue that is taken out of the configuration drains, and a wrong configuration changes nothing.
func reload(w *world) {
	w.open("n", 4)
	w.application("reload.a", "root.two")
	w.ask("reload.a", "reload-1", 1)
	w.configure(reloaded)
	w.show("queue/root.two", "queuename", "status", "allocatedResource")
	w.application("reload.b", "root.two")
	w.ask("reload.a", "reload-2", 1)
	w.configure("queues: 5")
	w.show("queue/root.two", "queuename", "status", "allocatedResource")
}
