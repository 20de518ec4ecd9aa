// Package usage knows what nodes and pods use, as it is measured: by the metrics API
// of Kubernetes, and by queries to Prometheus. A value that is missing or too old is not
// given out, so that plugins leave such nodes alone.
//
// Read in this order:
//
//	sources.go     Sources, and the Providers of a policy
//	kubernetes.go  metrics.k8s.io: polled and smoothed for nodes, listed for pods
//	prometheus.go  one query, with a token
//	follow.go      what nodes use and since when, for a scheduler
package usage
