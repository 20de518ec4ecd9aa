// Package landing says where a pod that is evicted would run next. It asks the
// scheduler's own core, with the cluster of one cycle and the queues of the
// scheduler's configuration, and the filter plugins of kube-scheduler.
//
// What it says counts all that happened before in the cycle: the pods that were
// evicted are gone, and their replacements stand where they land. A pod that waits
// already may take the room that an eviction frees before the replacement does, as
// it would in the cluster.
//
// Pods of other schedulers have no queue: for them the core says where they fit, in
// its order of nodes, and their own scheduler may prefer another of the nodes.
//
// Read in this order:
//
//	landing.go      Cluster, New and Sync: one cycle; Fits, Place and Book
//	trial.go        what was changed for one pod, and how it is taken back
//	waiting.go      pods that wait, and when the core asks again about them
//	books.go        pods and nodes as commands to the core
//	queues.go       how much the queues use, for plugins that choose by queue
package landing
