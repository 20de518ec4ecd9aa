// Package landing says where a pod that is evicted would run next. It asks the
// scheduler's own core, with the cluster of one cycle and the queues of the
// scheduler's configuration, and the filter plugins of kube-scheduler.
//
// What it says counts all that happened before in the cycle: the replacements of pods that were
// evicted stand where they land. The pods themselves hold their room until a replacement
// needs it: most owners make the next pod at once, while the last one still ends. A pod that waits
// already may take the room that an eviction frees before the replacement does, as
// it would in the cluster.
//
// Pods of other schedulers have no queue. They go where the scores of kube-scheduler have them, of which the scheduler may
// know others; so what is said of them is what may be.
//
// Read in this order:
//
//	landing.go      Cluster, New and Sync: one cycle; Place and Book
//	move.go         one pod goes, and its replacement comes
//	trial.go        what was changed for one pod, and how it is taken back
//	waiting.go      pods that wait, and when the core asks again about them
//	books.go        pods and nodes as commands to the core
//	scored.go       the scores of kube-scheduler; by them alone, pods of other schedulers
//	late.go         replacements that come when their pods have ended, and those that come before them
//	queues.go       how much the queues use, for plugins that choose by queue
package landing
