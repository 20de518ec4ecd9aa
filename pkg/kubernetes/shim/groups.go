package shim

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// podGroups are the pod groups by namespace and name, in the version that the API server
// serves. A pod that names one waits until it is there, as with kube-scheduler, also where none
// is served: without it nothing says whether it is a gang. Pods that have their node need none.
// They are guarded by the lock of the context.
type podGroups struct {
	*Context
	source  *groupSource
	version string // that is read; empty while none is served
	of      map[string]pods.PodGroup
}

func newPodGroups(c *Context) *podGroups {
	g := &podGroups{Context: c, of: map[string]pods.PodGroup{}}
	g.source = newGroupSource(g)
	return g
}

// begin forgets all groups, and has those count that are told of from now on, of a version;
// an empty one is that none is served.
func (c *podGroups) begin(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
	clear(c.of)
	c.syncPods(func(pod *v1.Pod) bool { return pods.PodGroupOf(pod) != "" })
}

// Add takes a pod group. Its pods that waited for it are sent. One that is not understood is
// none, so that its pods wait.
func (c *podGroups) Add(object *unstructured.Unstructured) {
	group, err := pods.ReadPodGroup(object)
	if err != nil {
		c.log.Warn("pod group not understood; its pods wait", zap.Error(err))
		c.Delete(object)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[group.Namespace+"/"+group.Name] = group
	c.syncPodsOf(group.Namespace, group.Name)
}

// Update takes the new state of a pod group.
func (c *podGroups) Update(_, object *unstructured.Unstructured) { c.Add(object) }

// Delete forgets a pod group. Its pods without a node wait for another one of its name.
func (c *podGroups) Delete(object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, object.GetNamespace()+"/"+object.GetName())
	c.syncPodsOf(object.GetNamespace(), object.GetName())
}

// syncPodsOf sends what changes for the pods of a group. The lock must be held.
func (c *podGroups) syncPodsOf(namespace, name string) {
	c.syncPods(func(pod *v1.Pod) bool { return pod.Namespace == namespace && pods.PodGroupOf(pod) == name })
}

// syncPods sends what changes for our pods that are meant. The lock must be held.
func (c *podGroups) syncPods(meant func(*v1.Pod) bool) {
	if !c.started {
		return
	}
	for _, t := range c.sortedTasks() {
		if !t.foreign() && meant(t.pod) {
			c.sync(t)
		}
	}
}

// waits says for which pod group a pod waits, or nothing. The lock must be held.
func (c *podGroups) waits(pod *v1.Pod) string {
	name := pods.PodGroupOf(pod)
	if _, known := c.of[pod.Namespace+"/"+name]; known || name == "" {
		return ""
	}
	if c.version == "" {
		return "the API server serves no pod groups, and it names pod group " + name
	}
	return "its pod group " + name + " does not exist"
}

// mark says in a message about a pod how many of its pod group start together. The core holds
// it back until so many of them run or can be placed at once. No placeholders are made: pods of
// the group that are there are what the core looks for room for. A pod of a task group, which
// has placeholders, waits for those instead. The lock must be held.
func (c *podGroups) mark(t *task, m *si.Allocation) {
	name := pods.PodGroupOf(t.pod)
	if name == "" || m.TaskGroupName != name || m.Placeholder || t.app.gang.has(name) {
		return
	}
	m.TaskGroupName = "" // the core does not have it changed, but a group may be made again as another
	if group := c.of[t.pod.Namespace+"/"+name]; group.MinCount > 0 {
		m.AllocationTags[pods.TagQuorum] = t.pod.Namespace + "/" + name
		m.AllocationTags[pods.TagQuorumLeast] = strconv.Itoa(int(group.MinCount))
	}
}

// taskGroups are the gangs among the pod groups that the pods of an application name, by name.
// The size of a member is that of the oldest pod of the group. The lock must be held.
func (c *podGroups) taskGroups(app *application) []pods.TaskGroup {
	known := map[string]bool{}
	var found []pods.TaskGroup
	for _, t := range app.sorted() {
		group, there := c.of[t.pod.Namespace+"/"+pods.PodGroupOf(t.pod)]
		if !there || known[group.Name] {
			continue
		}
		if gang, ok := pods.OfPodGroup(group, t.pod); ok {
			known[group.Name] = true
			found = append(found, gang)
		}
	}
	slices.SortFunc(found, func(a, b pods.TaskGroup) int { return cmp.Compare(a.Name, b.Name) })
	return found
}
