// Mutants is the mutation testing of this repository. It puts faults of one line into
// a package, one at a time, runs the tests that see the package, and reports the
// faults that no test has found.
//
// Run it with make mutants. The faults of a package are enumerated in the order of
// the source. A sample is the faults whose names have the least hashes with a seed,
// so a change elsewhere leaves the sample as it is. A fault is named by its file,
// function, operator, and its line before and after, not by the number of the line.
// No file of the repository is changed: go test is told by an overlay. All faults of a
// sample are compiled at once, and a variable of the environment says which one is on.
//
// What survives and is accepted is listed in survivors.txt, with the reason. The
// command fails for a survivor that is not in the list, for an entry that is no fault
// any more, and for one that a test finds by now.
//
// Read in this order:
//
//	main.go       the options, and the table of packages
//	session.go    fault by fault, and what is wrong at the end
//	fault.go      a fault, its name, the sample
//	operators.go  which faults there are
//	skip.go       what is left out, because it cannot change behaviour
//	source.go     a package, parsed and type-checked
//	schema.go     all faults of a sample in one program
//	runner.go     builds and runs tests, within limits
//	baseline.go   the tests without a fault: their times, and so their order
//	results.go    the file of results, by which a run is resumed
//	survivors.go  the list of accepted survivors
//	table.go      the table at the end
package main
