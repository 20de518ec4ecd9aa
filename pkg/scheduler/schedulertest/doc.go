// Package schedulertest drives the real scheduler in a test, with a resource
// manager that records what it hears.
//
// A MockScheduler lives in a bubble of testing/synctest, where time is virtual
// and everything settles before a verb returns: no sleeping, no polling.
//
//	synctest.Test(t, func(t *testing.T) {
//		m := schedulertest.New(t, schedulertest.Options{})
//		m.AddNode("node-1", "vcore=4 memory=8Gi")
//		m.AddApplication("app-1", "root.default")
//		m.Ask("app-1", "pod-1", "vcore=500m memory=1Gi")
//		node := m.WaitPlaced("pod-1")
//	})
//
// The resource manager confirms the releases that the scheduler starts, such as
// those of preemption; with Options.KeepReleased that is left to the verb Confirm.
//
// The resource manager implements the optional interfaces of package scheduler as
// far as the options say: it hears of nominations, knows disruption budgets and
// conflicts between pods, simulates, and chooses victims.
//
// Every verb checks the books of the partition afterwards, as Settle says, and ends the
// test if they are broken.
//
// Read in this order:
//
//	mock.go          MockScheduler: its verbs; books.go checks the books after them
//	state.go         the state of the partition and what was heard
//	recorder.go      the resource manager; calls and their texts
//	capabilities.go  what it can do beyond what it has to
package schedulertest
