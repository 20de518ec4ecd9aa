package shim

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
)

// references are the objects that pods name: their namespaces, whose quotas count for
// applications, and their priority classes. They are guarded by the lock of the context.
type references struct {
	*Context
	namespaces map[string]*v1.Namespace
	classes    map[string]*scheduling.PriorityClass
}

func newReferences(c *Context) *references {
	return &references{Context: c, namespaces: map[string]*v1.Namespace{}, classes: map[string]*scheduling.PriorityClass{}}
}

// AddNamespace takes a namespace. Pods that waited for it are sent.
func (c *references) AddNamespace(namespace *v1.Namespace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.namespaces[namespace.Name]
	c.namespaces[namespace.Name] = namespace
	if before != nil {
		if !maps.Equal(before.Labels, namespace.Labels) {
			c.changed.note(anything) // terms of affinity select namespaces by them
		}
		return
	}
	if !c.started {
		return
	}
	for _, t := range c.sortedTasks() {
		if t.told == untold && t.pod.Namespace == namespace.Name {
			c.sync(t)
		}
	}
}

// UpdateNamespace takes the new state of a namespace. Its quotas count for applications that
// come after.
func (c *references) UpdateNamespace(_, namespace *v1.Namespace) { c.AddNamespace(namespace) }

// DeleteNamespace forgets a namespace.
func (c *references) DeleteNamespace(namespace *v1.Namespace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.namespaces, namespace.Name)
}

// AddPriorityClass takes a priority class. Whether its pods may be preempted counts for pods
// that come after.
func (c *references) AddPriorityClass(class *scheduling.PriorityClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.classes[class.Name] = class
}

// UpdatePriorityClass takes the new state of a priority class.
func (c *references) UpdatePriorityClass(_, class *scheduling.PriorityClass) {
	c.AddPriorityClass(class)
}

// DeletePriorityClass forgets a priority class.
func (c *references) DeletePriorityClass(class *scheduling.PriorityClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.classes, class.Name)
}
