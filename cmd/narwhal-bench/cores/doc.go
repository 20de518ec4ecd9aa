// Package cores starts the schedulers that are compared. What a caller gets is the
// scheduler-interface and nothing else, so that both are driven in the same way.
//
// Read in this order:
//
//	cores.go     the table of cores, and what each needs in a configuration
//	narwhal.go   this repository
//	yunikorn.go  yunikorn-core, with its logs off
package cores
