// Package upstream has plugins that were written for the descheduler of Kubernetes run in this one. Its tests
// play that descheduler, as its module is served, beside this one. Both read the same policy and evict in the
// same cluster, and the pods that they evict must be the same, but for differences that are known: each has a
// reason, and a count that may only fall.
//
// It is a module of its own, since that of Kubernetes brings versions of libraries with it.
// Upstream sees what it sees in a dry run of its own: a pod that was evicted is gone at once, and
// nothing takes its place.
//
//	go test -worlds 5000 -first 1000000
//
// plays more worlds of each plugin, and others; counts are those of the worlds that are played by
// default. A difference without a reason fails the test and prints its world.
//
// Read in this order:
//
//	plugin.go            plugins of upstream as plugins of this descheduler
//	equal_test.go        the test, and how many differences there may be
//	differences_test.go  why there are any
//	world_test.go        random clusters and policies
//	cases_test.go        what pods only prefer
//	plugins_test.go      arguments of plugins, and the pods that they look at
//	theirs_test.go       upstream at work
//	ours_test.go         this descheduler at work
package upstream
