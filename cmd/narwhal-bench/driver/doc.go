// Package driver is a resource manager that knows nothing but the scheduler-interface. It
// sends nodes, applications and pods to a core, keeps a log of what is sent and heard, and
// checks from that log, afterwards, that the core was right.
//
// Read in this order:
//
//	driver.go    the driver: what it waits for
//	send.go      requests
//	callback.go  answers
//	log.go       what is remembered of both
//	check.go     the laws that a core has to keep
//	meter.go     time, processor, memory
package driver
