// Package order keeps things in the order in which they are tried, so that
// nothing is sorted when a decision is due.
//
// A Tree is an ordered set that also carries, for every subtree, a summary of
// what is in it: the most that is free on any of its nodes, or the kinds of
// asks that wait in any of its queues. A search for the first item that is of
// use skips whole subtrees by their summary, and finds it in logarithmic time
// where the summaries are exact. Items hold their own links, so that keeping
// order allocates nothing.
//
// A Tree is a treap (Seidel and Aragon, Randomized search trees, 1996) whose
// chance is the number of the insertion, so that equal histories give equal
// shapes. Its order never depends on its shape.
package order
