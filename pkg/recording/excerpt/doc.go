// Package excerpt makes a scenario of a recording: the smallest one that still shows what became of a pod.
//
// Read in this order:
//
//	excerpt.go  Make, which finds the moment from which on the outcome shows
//	history.go  the steps up to it, and views of moments before it
//	answers.go  what the resource manager answered, as verbs
//	state.go    a view as commands
//	outcome.go  what is to be shown, and whether a scenario shows it
//	reduce.go   leaves out what is not needed; fold.go makes nodes smaller by what only fills them
//	text.go     what is written
package excerpt
