// Package feasibility says where a pod may run. It asks the filter plugins of
// kube-scheduler, of the version that go.mod pins, over a cache of the cluster.
//
// A Checker counts pods that are bound or assumed, on their nodes, and answers for
// another pod: on one node, on many, on a node that is changed in thought. Only
// PreFilter, Filter, Reserve and PreBind of the default profile run, and what package outoftree adds. There is no
// other scoring (see package preferences), no queue, and no choice of victims: that is decided by the scheduler core,
// which asks about a node without some pods (CheckWith).
//
// What is counted of a node is immutable. A change makes a copy of that one node, and a
// question holds the copies that it looks at while changes go on. PreFilter alone looks
// at all nodes at once. No change happens meanwhile, and it is shown only those pods that
// a selector of the pod, or one against the pod, may match.
//
// Objects that are handed in are kept and must not be changed afterwards, as is usual
// for objects from informers.
//
// Read in this order:
//
//	checker.go       Checker, Options, New, SetNode, SetPod
//	check.go         Check, CheckNodes: PreFilter once, Filter for each node
//	kept.go          what PreFilter found out for pods of a class, after changes of other pods
//	spread.go        the least used domains of a spread constraint after such changes
//	simulate.go      CheckWith: a node with other pods
//	devices.go       which devices are taken then
//	claims.go        which pods keep devices from others
//	groupclaims.go   claims that several pods share; sharedtopology.go, where pods have to run that do
//	unused.go        FreeClaims: devices that nothing uses and that keep a pod from other nodes
//	capacity.go      how many devices serve extended resources on a node
//	reserve.go       Reserve, PreBind, Unreserve: volumes and devices
//	class.go         Class: pods that every filter treats alike
//	numbers.go       the labels by which the pods of a controller differ, and whether any filter looks at them
//	ties.go          Ties: which other pods decide about a pod
//	references.go    Watch: what changes beside nodes and pods, and which pods that concerns
//	cluster.go       the pods and nodes that are counted, as the plugins read them
//	labels.go        pods by their labels, and by those that they are against
//	view.go          the nodes with those pods that matter for a question
//	nodeset.go       a list of nodes from which one can be removed
//	refusal.go       why a pod may not run on a node
//	outoftree.go     plugins that are none of kube-scheduler's: scores, permits, what follows a binding
//	snapshot.go      the nodes as they see them
//	profile.go       which plugins run, and what they need
//	parallel.go      many nodes at once
package feasibility
