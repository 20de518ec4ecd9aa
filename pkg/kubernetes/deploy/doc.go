// Package deploy checks the manifests and the chart of docs/deploy, which install the
// scheduler. It is a Go module of its own: the libraries of Helm and kustomize have
// versions of k8s.io of their own.
package deploy
