// Package order keeps items sorted as they change, so that nothing is sorted when
// a decision is made.
//
// A Tree is an ordered set that also carries a summary of every subtree, for
// example the most that is free on any of its nodes, or the kinds of asks that
// wait in any of its queues. A search for the first usable item skips whole
// subtrees by their summary. It takes logarithmic time if the summaries are
// exact. Items hold their own links, so the tree allocates no memory.
//
// A Tree is a treap (Seidel and Aragon, Randomized search trees, 1996). Its
// random weights are derived from the number of the insertion, so equal histories
// give equal trees. The order of items never depends on the shape of the tree.
//
// # Why a tree of our own
//
// The scheduler asks for the first item in an order that also satisfies a
// condition: the first node on which the ask fits, the first queue that has an
// ask to try. That needs an augmented tree: an ordered tree with a summary in
// every subtree. The usual libraries do not have one:
//
//   - container/heap gives the first item only. A heap cannot skip items that do not
//     satisfy the condition, and has no order beyond its root.
//   - github.com/google/btree and similar trees iterate from a key, but keep nothing per
//     subtree. A search would visit every full node before the first that has room.
//   - a sorted slice has cheap searches, but every insertion moves its tail.
//
// Of the augmented trees a treap needs the least code: insertion and removal are
// a split and a merge, and a summary is computed again wherever a link changes.
package order
