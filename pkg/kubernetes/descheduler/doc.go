// Package descheduler runs the plugins of a policy: in cycles, and triggered by events.
//
// Plugins say which pods should go. This package decides whether they may: it asks the
// filters of the profile, counts limits, keeps workloads whose replacements came back to
// the same node, and asks a landing where a replacement would run. What is left is handed
// to the evict plugin of the profile. A dry run is the same without that last step, so its
// report says what a real cycle would do.
//
// One cycle is decided with one view of the cluster, in a fixed order; equal input gives
// equal evictions.
//
// Read in this order:
//
//	descheduler.go  New, Run, Reload
//	options.go      Options, and ReadOnly for the client of a dry run
//	cycle.go        Cycle: the plugins of all profiles, once
//	controllers.go  plugins that events trigger, and how they are started again
//	takeback.go     what earlier policies have asked for
//	missed.go       for which plugins evictions may have made room
//	profile.go      the plugins of a profile, built
//	handle.go       what a plugin is given
//	evictor.go      what happens when a plugin wants a pod evicted
//	group.go        pods that are evicted together, or none
//	view.go         the cluster as one cycle sees it
//	limits.go       which limit keeps a pod
//	tally.go        counts by node, namespace, workload and plugin
//	flight.go       evictions whose pod has not ended
//	cooldown.go     workloads whose replacements came back
//	budgets.go      what disruption budgets allow
//	order.go        the order of pods without a sort plugin
//	decisions.go    why a pod was evicted or was not
//	report.go       what a cycle did
//	warnings.go     what keeps plugins from their work
//	metrics.go      what is counted
//	drains.go       metrics of nodes that controllers drain
//	events.go       events of pods and nodes
//	tracing.go      spans
package descheduler
