// Package utilization has the plugins that even out, or concentrate, what nodes use.
// All of them keep an account of each node, on which a move is booked before the next
// one is thought of: so no node that gets pods becomes one that has too many.
//
//	percent.go   thresholds, in thousandths of a percent
//	account.go   what a node has and uses
//	cluster.go   the accounts of all nodes, and moves between them
//	measured.go  use as it is measured
//	args.go      what the arguments of the plugins have in common
//	low.go       LowNodeUtilization
//	high.go      HighNodeUtilization
//	loadargs.go  the arguments of LowNodeLoad
//	load.go      LowNodeLoad
//	pool.go      one pool of nodes of LowNodeLoad
//	detector.go  how long a node has been loaded
package utilization
