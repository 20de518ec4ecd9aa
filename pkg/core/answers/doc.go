// Package answers is what the resource manager said about asks that are alike: which nodes refused them and why,
// and, for preemption attempts, what it answered about nodes without some allocations. An answer holds until its
// node changes. It is the only writer of what it keeps; package question asks, and says until when answers hold.
//
// Nothing here is safe for use by several goroutines.
package answers
