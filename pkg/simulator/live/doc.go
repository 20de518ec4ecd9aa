// Package live plays the cluster of a scenario in real time, before a real scheduler that
// knows it as its resource manager.
//
// The cluster itself, with all that happens to it, is a simulator.Remote, which has neither
// clock nor goroutine. Here are the clock, the lock and the messages of the
// scheduler-interface.
//
//	live.go       the loop: what is due, requests out, a timer
//	requests.go   requests, from commands
//	callback.go   callbacks, to events; answers to questions
package live
