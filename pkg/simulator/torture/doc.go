// Package torture plays random clusters of the simulator under faults, one seed after the other, and
// checks every law in them. A world that breaks one is made small and printed as a scenario.
//
// Worlds are finite, and each pod of them fits somewhere, within all quotas, once the faults are
// over. So all of them end in time, which the scenario says itself: see Scenario.Ends.
//
// Read in this order:
//
//	torture.go   worlds one after the other, and what breaks
//	maker.go     the world of a seed: nodes, queues, daemonsets, foreign pods
//	work.go      its workloads, each of which fits
//	trouble.go   incidents, changes and faults, which all end
//	shrink.go    a smaller scenario that breaks the same law
//	tally.go     what was played, as a table
package torture
