// Package config turns the YAML text an operator writes into the configuration
// of partitions, or into a list of everything that is wrong with it.
//
// Load is a pure function. It reads the whole schema strictly: an unknown
// key, a key given twice and a value of the wrong kind are problems, each
// with its line and column, the queue it belongs to and the key as it was
// typed. Nothing is used unless all of it is right, and nothing is ignored in
// silence: a key that is right but has no effect yet is a warning.
//
// A text goes through four steps. Values that could not be read are left out of
// the comparisons, and building needs a text without errors:
//
//  1. the YAML parser makes nodes;
//  2. reading makes Partitions of them, checking each value by itself;
//  3. checking compares values with each other: limits, queues along the tree,
//     placement rules with the queues they name;
//  4. building works out inheritance and makes api.Config.
//
// Read in this order:
//
//	config.go      Load, Document, the built-in text, the checksum
//	problem.go     Problem and how it prints
//	cursor.go      a value, where it stands, and how to report a problem with it; most
//	               of it is package yamltree, which also reads aliases and merges, and
//	               finds the known word that was probably meant
//	yaml.go        the whole text
//	partition.go   a partition: node order, the root
//	preemption.go  how room is made for asks
//	queue.go       a queue and what is below it
//	properties.go  properties: reading, inheriting, working out
//	quantities.go  quantities of resources, read and printed
//	limit.go       limits of users and groups
//	placement.go   placement rules and filters
//	hierarchy.go   guarantees and limits, compared along the tree
//	build.go       to api.Config; definition.go back
//	compare.go     what a reload would change
package config
