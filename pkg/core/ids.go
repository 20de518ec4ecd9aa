package core

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
