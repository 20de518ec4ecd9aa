// Package frameworktest is what a test of a descheduler plugin needs: a Handle over
// a cluster that is written down in a few lines, which records evictions.
//
// Where pods can go is asked of the filter plugins of kube-scheduler; where they do
// go is a simple score, see landing.go. The clock, the measured use, the limits and
// the filters can be set. Replaced gives the cluster after the cycle, so that a test
// can run a second one.
//
// Read in this order:
//
//	handle.go   Handle and Options
//	evictor.go  filters, limits and the record of evictions
//	landing.go  where replacements go
//	usage.go    measured use
//	objects.go  nodes and pods in one line each
//	silent.go   a server that never answers
package frameworktest
