// Package tidy keeps the rules of this repository: which package imports which,
// what the core must not do, how large a file, a function or a type can be, what is
// documented, and in which words.
//
// Check reads a repository through an fs.FS, so that a bad snippet in a map is
// as good as the real tree, and returns what it finds as values. The test of
// this package runs it over the repository it is part of.
//
// Read in this order:
//
//	rules.go       the rules, one entry each
//	imports.go     the rules about imports and modules
//	core.go        what the core must not do
//	fields.go      which package of the core writes a field
//	race.go        what packages must not have that are not played with the race
//	               detector
//	budgets.go     lines, files, parameters, exported names
//	words.go       comments and names of packages, paths
//	links.go       what documents point at
//	documents.go   how long documents are
//	vocabulary.go  words that have a better one
//	tree.go        reading a repository
package tidy
