// Package object answers about the objects of a partition as they are: queues, nodes,
// applications, asks, users and groups, and about all partitions in sums.
//
// An answer is a function from a Snapshot and a request to a value, or an error. The types of
// the objects are named after what they show (nodeJSON, queueJSON) and live here. Those of
// which there may be very many write themselves, field by field; encoding/json writes the
// others. Lists are made element by element while they are written.
//
// Read in this order:
//
//	sources.go       what objects are made from besides views
//	snapshot.go      one partition at one moment; part.go, what is of some queues; named.go, kinds that no node has
//	partition.go     partitions and resource managers, placement rules
//	queue.go         queues; ranked.go, those with a guarantee, by how they stand to it
//	node.go          nodes; allocation.go, what runs there; utilization.go, how full they are
//	application.go   applications; past.go, those that have ended, and what others have been
//	ask.go, asks.go  asks that wait: one and lists; class.go, their classes
//	usage.go         users and groups
//	summary.go       a partition in counts
//	counts.go        what was counted from time to time
//	dump.go          everything at once
package object
