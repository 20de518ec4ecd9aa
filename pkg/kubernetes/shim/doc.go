// Package shim is the resource manager for Kubernetes. It tells the scheduler core what the
// API server says of nodes, pods and what they refer to, and does in the cluster what the
// core decides: it binds pods, ends victims, and says why pods wait.
//
//	informers ─► Context ─► sender ─► core
//	                │                   │
//	                │    callback ◄─────┘
//	                ▼
//	    binder, evictor, statusWriter, eventWriter ─► API server
//
// A Context is one table of pods under one lock. Each pod is what the API server said of it
// last, and what the core was told last; whatever happens, the difference is sent. So
// messages may come twice or late, a pod may be seen first in an update, and a node may be
// missing for a while: what is known in the end is the same. Messages to the core go through
// one queue, in the order in which things became known.
//
// What acts on the API server has a bounded number of workers each and never holds the lock
// while it waits. What lasts longer than a second leaves its worker to others. A request whose outcome is not known, such as a binding that timed out, is
// resolved by reading the pod before anything else is tried.
//
// Read in this order:
//
//	context.go        Context: what is known
//	options.go        what it depends on; feasibility.go, where pods may run; preferences.go, where they had better
//	task.go           a pod, its application, and what the core was told
//	state.go          what the API server said of a pod, and what of it filters look at
//	pods.go           pods come, change and end: the one way for ours and foreign ones
//	resizes.go        room for pods that are to grow while they run
//	nodes.go          nodes
//	applications.go   applications are introduced, rejected and completed
//	references.go     namespaces and priority classes
//	groups.go         pod groups; groupsource.go, in which version they are heard of; groupstatus.go, their condition
//	groupdone.go      pods of them that have succeeded and count on
//	gangs.go          gangs gather, and end; placeholders.go makes the placeholders; taskgroups.go, those that have none
//	budgets.go        disruption budgets
//	retries.go        pods that wait for volumes and devices are tried again
//	informers.go      how all of these are heard of
//	start.go          the order in which the core is told at the start; the end
//	sender.go         the queue to the core
//	callback.go       what the core decides; predicates.go and ties.go, what it asks
//	early.go          what the core has decided and not announced, counted for pods that come meanwhile
//	workers.go        what serves queues, and turns of namespaces
//	binder.go         assume, reserve, bind, and what follows a failure
//	permits.go        plugins that are asked before a pod is bound, and told after
//	outcome.go        what is known after a request
//	evictor.go        victims are ended; handbacks.go, and their devices given back
//	reservations.go   places that are kept for pods are given to them
//	status.go         nominated nodes and conditions; statusqueue.go paces what is written
//	events.go         events for people
//	metrics.go        what is counted of all that
//	configuration.go  what ConfigMaps say; configmaps.go, reading and following them
//	dump.go           the state for debugging
package shim
