package api

import "strings"

// Identifiers. Each has a type of its own, so that two of them cannot be swapped.
type (
	// NodeID names a node, once per partition.
	NodeID string
	// QueuePath is the dotted path of a queue from root, in lower case.
	QueuePath string
	// ApplicationID names an application, once per partition.
	ApplicationID string
	// AllocationKey names an allocation or ask, once per partition; in
	// Kubernetes it is the UID of the pod.
	AllocationKey string
)

// Full is the full path of a requested queue: from the root, in lower case; the
// default queue if the request is empty. It does not say whether there is such a queue.
func (requested QueuePath) Full() QueuePath {
	path := strings.ToLower(string(requested))
	switch {
	case path == "":
		return DefaultQueue
	case path != "root" && !strings.HasPrefix(path, "root."):
		path = "root." + path
	}
	return QueuePath(path)
}

// Name is that of the queue within its parent.
func (requested QueuePath) Name() string {
	return string(requested[strings.LastIndexByte(string(requested), '.')+1:])
}
