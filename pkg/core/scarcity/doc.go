// Package scarcity says how dear the room of a node is: how much of what is free there the asks
// that arrive need which can run on few nodes only. An ask that can run anywhere then leaves
// the rare nodes to those that cannot.
//
// Nodes that are alike have one Shape: about the same capacity, and the same values of the
// attributes that asks name in selectors. Asks that are alike have one profile: the same
// selector, and about the same amounts. So which profile can use which shape is a set of few
// bits, and nothing here is as large as the cluster.
//
// The price of a shape says, for each kind, which part of what is free of it is wanted by what
// arrives, if each profile spreads over all it can use:
//
//	price of a shape = sum over the profiles that can use it of
//	                   share of the profile in what is wanted / share of its shapes in what is free
//
// What arrives is what waits, and what came lately, which counts half after every 1,024 asks.
// A price is an integer in parts of 65,536 and at most four; prices are worked out again when
// enough has changed to pay for that.
//
//	selector.go  which values of attributes an ask needs
//	shape.go     nodes that are alike, and what is free there
//	mix.go       asks that are alike, and how many there are
//	price.go     prices, and for whom room is kept
//	verify.go    the laws
package scarcity
