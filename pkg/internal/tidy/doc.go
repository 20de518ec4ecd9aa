// Package tidy keeps the rules of this repository: who may import whom, what
// the core must not do, how large a file or a function may be, what is
// documented.
//
// Check reads a repository through an fs.FS, so that a bad snippet in a map is
// as good as the real tree, and returns what it finds as values. The test of
// this package runs it over the repository it is part of.
//
// Read in this order:
//
//	rules.go    the rules, one entry each
//	imports.go  the rules about imports and modules
//	core.go     what the core must not do
//	budgets.go  lines, parameters
//	words.go    names, comments, texts
//	tree.go     reading a repository
package tidy
