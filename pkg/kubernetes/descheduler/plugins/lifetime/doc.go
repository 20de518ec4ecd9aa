// Package lifetime has the plugins that remove pods for what they are by themselves:
// too old, failed, started again too often. Where the replacement runs does not
// matter to them.
//
//	condition.go  states, reasons and exit codes of pods
//	podlifetime.go
//	failed.go
//	restarts.go
package lifetime
