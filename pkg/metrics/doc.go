// Package metrics says in numbers how scheduling goes, for Prometheus to scrape.
//
// There are three sources:
//
//   - Count is given the events of every step, and counts them.
//   - Observe is given how long the stages of scheduling take.
//   - Views are asked for at each scrape. Gauges are made of them then, so that
//     there is nothing to keep in step: a queue that is gone has no series.
//
// The names that yunikorn-core made known are kept where they say the truth.
// All others begin with narwhal. docs/metrics.md is the table of all, and a test
// compares it with what a scrape returns.
//
// Names of queues, partitions and resources are labels, never part of a name,
// and only those of objects that exist become series: an application cannot
// make one by asking for a queue. Of users and their groups fifty have series
// of their own, and the others are one.
//
// Read in this order:
//
//	metrics.go    Metrics: New, Watch, Gather, Handler
//	counters.go   Count: the counters; count.go, from events to counters
//	latencies.go  Observe: histograms of the stages that package stage names
//	source.go     views, asked for with a bound on the wait
//	page.go       the metrics made of views, and how their series are stored
//	reading.go    a view to series: the partition; queues.go, nodes.go, asks.go, users.go
//	label.go      labels, and text that makes a label value
package metrics
