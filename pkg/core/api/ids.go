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
func (p QueuePath) Full() QueuePath {
	path := strings.ToLower(string(p))
	switch {
	case path == "":
		return DefaultQueue
	case path != "root" && !strings.HasPrefix(path, "root."):
		path = "root." + path
	}
	return QueuePath(path)
}

// IsWithin reports whether a queue is another one or below it.
func (p QueuePath) IsWithin(above QueuePath) bool {
	return p == above || strings.HasPrefix(string(p), string(above)+".")
}

// Name is that of the queue within its parent.
func (p QueuePath) Name() string {
	return string(p[strings.LastIndexByte(string(p), '.')+1:])
}
