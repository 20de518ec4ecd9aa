// Package tools pins the programs of a real control plane: etcd and those of
// k8s.io/kubernetes. It is a Go module of its own, so that what they require does not
// enter the graph of the scheduler.
//
// File tools.go imports them behind a build tag, which keeps them in go.mod and out of
// every build: tests and linters of this module compile no Kubernetes. Only package
// programs builds them.
package tools
