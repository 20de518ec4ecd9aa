// Package explanation answers why an ask waits or an allocation is evicted, and what would
// come of asks, nodes and configurations that are not there. Package explain finds it out;
// here are the questions and the answers as REST has them.
//
// Read in this order:
//
//	explain.go      why
//	worth.go        whether an eviction was worth it
//	life.go         what an ask or allocation has been, and when an ask will run
//	whatif.go       what would be
//	doctor.go       what is wrong now
//	question.go     reading the question
//	predicates.go   what a what-if asks the resource manager
package explanation
