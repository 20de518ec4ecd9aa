// Package violations has the plugins that move pods away from where the scheduler
// would not place them any more: rules that are set for scheduling and ignored during
// execution. Each move is one that the scheduler makes to a place where the rule holds;
// what cannot be improved stays.
//
//	index.go         pods by their labels
//	nodeaffinity.go  RemovePodsViolatingNodeAffinity
//	taints.go        RemovePodsViolatingNodeTaints
//	antiaffinity.go  RemovePodsViolatingInterPodAntiAffinity
//	spread.go        RemovePodsViolatingTopologySpreadConstraint
//	group.go         one spread constraint and the pods that it counts
package violations
