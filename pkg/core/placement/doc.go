// Package placement finds the queue of an application by rules. It is pure: the tree of
// queues is asked through an interface, and nothing is made.
//
//	placement.go  Place: the rules in their order, and what a queue must allow
//	rule.go       Rule: the path that one rule leads to
//	filter.go     Filter: to which users a rule applies
package placement
