package frameworktest

import (
	v1 "k8s.io/api/core/v1"
)

// Use is a measured use that a test sets: of nodes by name, of pods by
// "namespace/name". What is not there is unknown.
type Use struct {
	Nodes, Pods map[string]v1.ResourceList
}

// Node implements framework.Usage.
func (u Use) Node(name string) (v1.ResourceList, bool) {
	list, ok := u.Nodes[name]
	return list, ok
}

// Pod implements framework.Usage.
func (u Use) Pod(namespace, name string) (v1.ResourceList, bool) {
	list, ok := u.Pods[namespace+"/"+name]
	return list, ok
}
