// Package outoftree has plugins take part that were written for the scheduling framework of Kubernetes and are no part of
// kube-scheduler. A program compiles them in (package command), and a profile of kube-scheduler names those that count.
//
// The framework of kube-scheduler runs them beside its own plugins, with one difference: each stands behind a guard. A plugin
// that panics, answers with an error, or does not answer at all costs the pod that it was asked about its place, and no other.
// What is asked in a scheduling cycle is asked about one pod at a time, as with kube-scheduler.
//
// Read in this order:
//
//	outoftree.go   Plugin, Options, New: which plugins of a profile there are
//	points.go      the extension points, and what is not asked here
//	guard.go       a plugin behind its guard, as the framework calls it
//	scores.go      its scores
//	ask.go         one call: panics, errors, and calls that do not return
//	handle.go      what a plugin sees of the scheduler
//	events.go      which events let a pod be tried again that a plugin has refused
//	informers.go   where these events come from
package outoftree
