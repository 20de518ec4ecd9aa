// Package policy reads the policy of the descheduler, and says everything that is wrong
// with it.
//
// Load takes both kinds of the version descheduler/v1alpha2: DeschedulerPolicy, which
// the descheduler of Kubernetes reads, and DeschedulerConfiguration, which that of
// Koordinator reads. It knows no plugin: names, extension points, arguments and their
// defaults come from a framework.Registry, and the plugins that each profile has come
// from Options.
//
// Reading is strict. An unknown key, a key given twice, a value of the wrong kind, an
// unknown plugin, a plugin at a point where it does not work and arguments that make
// no sense are problems, each with its line and path. Nothing is used unless all of it
// is right.
//
// Print writes a policy with all that was left out, and Load reads the same from it.
//
// Read in this order:
//
//	policy.go     Policy: the internal form
//	problem.go    Problem and how it prints
//	load.go       Load: the text as a whole
//	settings.go   settings of the process
//	limits.go     limits of evictions
//	providers.go  sources of measured use
//	profile.go    what is written of a profile
//	complete.go   defaults and checks of a profile
//	args.go       arguments of plugins
//	cursor.go     a value, where it stands, and how to report a problem with it
//	scalar.go     plain values, and what is wrong with them
//	decode.go     a value of the text into a Go value
//	encode.go     a Go value into a text
//	print.go      Print
//	arguments.go  what a plugin understands, for people
package policy
