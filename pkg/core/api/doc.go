// Package api is what goes into a partition and comes out of it: identifiers, commands, the
// configuration, events and views. It is data: what a partition does with it, is in package core, and
// none of these types knows that.
//
// Read in this order:
//
//	ids.go         the types of identifiers
//	allocation.go  an ask or allocation, as the resource manager sends it
//	command.go     what can be asked of a partition
//	config.go      what a partition is built with
//	question.go    what a partition asks the resource manager
//	event.go       what a partition did
//	state.go       the states of an application
//	view.go        what other goroutines may read
//	queueview.go   the queues in it; askview.go the asks, reason.go why they wait, group.go the groups
package api
