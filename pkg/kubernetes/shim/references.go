package shim

import (
	"maps"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// references are the objects that pods name: their namespaces, whose quotas count for
// applications, their priority classes, and their daemonsets. They are guarded by the lock of the
// context.
type references struct {
	*Context
	namespaces map[string]*v1.Namespace
	classes    map[string]*scheduling.PriorityClass
	daemonsets map[types.UID]types.NamespacedName
}

func newReferences(c *Context) *references {
	return &references{Context: c, namespaces: map[string]*v1.Namespace{}, classes: map[string]*scheduling.PriorityClass{}, daemonsets: map[types.UID]types.NamespacedName{}}
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
		if c.started && !maps.Equal(before.Annotations, namespace.Annotations) {
			c.requote(namespace)
		}
		return
	}
	c.syncUntold(namespace.Name)
}

// syncUntold sends the pods of a namespace that waited for something. The lock must be held.
func (c *references) syncUntold(namespace string) {
	if !c.started {
		return
	}
	for _, t := range c.sortedTasks() {
		if t.told == untold && t.pod.Namespace == namespace {
			c.sync(t)
		}
	}
}

// UpdateNamespace takes the new state of a namespace. Its quotas count at once.
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

// AddDaemonSet takes a daemonset. Pods that waited for it are sent.
func (c *references) AddDaemonSet(set *apps.DaemonSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.daemonsets[set.UID]; known {
		return
	}
	c.daemonsets[set.UID] = types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
	c.syncUntold(set.Namespace)
}

// UpdateDaemonSet takes the new state of a daemonset. It may be another one of its name.
func (c *references) UpdateDaemonSet(old, set *apps.DaemonSet) {
	if old.UID != set.UID {
		c.DeleteDaemonSet(old)
	}
	c.AddDaemonSet(set)
}

// DeleteDaemonSet forgets a daemonset.
func (c *references) DeleteDaemonSet(set *apps.DaemonSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.daemonsets, set.UID)
}

// missing is the daemonset that a pod claims to be of, to run on a certain node, and that does not
// exist, or nothing. Any user can write such a claim, and pods make room for one that is true. The lock
// must be held.
func (c *references) missing(pod *v1.Pod) string {
	if pods.RequiredNode(pod) == "" {
		return ""
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if c.daemonsets[owner.UID] == (types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}) {
		return ""
	}
	return owner.Name
}
