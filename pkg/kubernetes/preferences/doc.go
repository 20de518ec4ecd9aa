// Package preferences says which of the nodes where a pod may run suit it best, as
// kube-scheduler would: pods of a service or controller are spread over nodes and zones, and
// preferred affinity, anti-affinity and nodes, taints that are only to be avoided, and images that are on a node count.
//
// A Scorer counts pods on their nodes and keeps, for each class of pods, what a placement
// changes: how many of the pods that a constraint counts are in each place. So a question costs
// a few operations for each node that it is about, and a change of a pod a few for each class
// that it concerns. The score plugins of kube-scheduler look at all pods of all nodes for
// each question; they are run beside it in the tests, and the scores are theirs. Plugins that are none of kube-scheduler's give
// their points by Options.Points.
//
// All scores are integers. Answers depend on the nodes, pods, services and controllers as they
// are, and on the order of the nodes in the question, and on nothing else.
//
// Read in this order:
//
//	scorer.go     Scorer: nodes and pods; Best and Top
//	scratch.go    the nodes of one question and their points
//	profile.go    what counts, and how much
//	class.go      what is kept for pods that are alike
//	listeners.go  which of them are told of a pod
//	spread.go     spread constraints, also those that follow from services and controllers
//	affinity.go   preferred affinity and anti-affinity to pods, of either side
//	images.go     which nodes have the images of a pod
//	points.go     further points, of plugins
//	load.go       what nodes are measured to use, and the pods placed since
//	requests.go   what a pod requests, and whether it has changed
//	topology.go   the places of a topology, as zones
//	objects.go    services, controllers and namespaces
package preferences
