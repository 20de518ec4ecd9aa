// Package scarcity says how dear the room of a node is: how much of what is free there is needed
// by asks that can run on few nodes only. An ask that can run anywhere then leaves the rare nodes
// to those that cannot.
//
// A class is nodes that are alike: of about the same capacity, the same taints, and the same values
// of the attributes that asks name in selectors. A Profile is asks that are alike: of the same selector,
// and about the same amounts. So a few bits say which classes a profile can use, and nothing here
// is as large as the cluster.
//
// The price of a class says, for each kind, which part of what is free of it is wanted by what
// arrives, if each profile spreads over all that it can use. It is the sum, over the profiles
// that can use the class, of the part that the profile is of what is wanted, against the part that
// its classes are of what is free.
//
// What arrives is what waits, and what came lately, which counts half after every 1,024 asks.
// A price is an integer in parts of 65,536 and at most four; prices are worked out again when
// enough has changed to pay for that.
//
//	selector.go   which values of attributes an ask needs, and which taints it tolerates
//	nodeclass.go  nodes that are alike, and what is free there
//	mix.go        asks that are alike, and how many there are
//	price.go      prices, and for which asks room is kept
//	verify.go     the laws
package scarcity
