package shim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// podGroups are the pod groups by namespace and name, where the API server serves them. A
// pod that names one waits until it is there, as with kube-scheduler: without it nothing
// says whether it is a gang. Pods that have their node need none. They are guarded by the
// lock of the context.
type podGroups struct {
	*Context
	served bool
	of     map[string]*v1alpha2.PodGroup
}

func newPodGroups(c *Context) *podGroups {
	return &podGroups{Context: c, of: map[string]*v1alpha2.PodGroup{}}
}

// discover finds out whether the API server serves pod groups. It is asked once: where they
// are served later, the scheduler is to be started again.
func (c *podGroups) discover() (bool, error) {
	list, err := c.options.Client.Discovery().ServerResourcesForGroupVersion(v1alpha2.SchemeGroupVersion.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("whether there are pod groups: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served = slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "podgroups" })
	return c.served, nil
}

// AddPodGroup takes a pod group. Its pods that waited for it are sent.
func (c *podGroups) AddPodGroup(group *v1alpha2.PodGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[group.Namespace+"/"+group.Name] = group
	c.syncPodsOf(group)
}

// UpdatePodGroup takes the new state of a pod group. What it asks for changes in the API
// server only if it is deleted and made again between two looks.
func (c *podGroups) UpdatePodGroup(_, group *v1alpha2.PodGroup) { c.AddPodGroup(group) }

// DeletePodGroup forgets a pod group. Its pods without a node wait for another one of its
// name.
func (c *podGroups) DeletePodGroup(group *v1alpha2.PodGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, group.Namespace+"/"+group.Name)
	c.syncPodsOf(group)
}

// syncPodsOf sends what changes for the pods of a group. The lock must be held.
func (c *podGroups) syncPodsOf(group *v1alpha2.PodGroup) {
	if !c.started {
		return
	}
	for _, t := range c.sortedTasks() {
		if !t.foreign() && t.pod.Namespace == group.Namespace && groupName(t.pod) == group.Name {
			c.sync(t)
		}
	}
}

// groupName is the pod group that a pod names, or nothing.
func groupName(pod *v1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return *group.PodGroupName
	}
	return ""
}

// missing is the pod group that a pod waits for, or nothing. The lock must be held.
func (c *podGroups) missing(pod *v1.Pod) string {
	name := groupName(pod)
	if !c.served || name == "" || c.of[pod.Namespace+"/"+name] != nil {
		return ""
	}
	return name
}

// mark says in a message about a pod how many of its pod group start together. The core holds
// it back until so many of them run or can be placed at once. No placeholders are made: pods of
// the group that are there are what the core looks for room for. A pod of a task group, which
// has placeholders, waits for those instead. The lock must be held.
func (c *podGroups) mark(t *task, m *si.Allocation) {
	name := groupName(t.pod)
	if !c.served || name == "" || m.TaskGroupName != name || m.Placeholder || t.app.gang.has(name) {
		return
	}
	m.TaskGroupName = "" // the core does not have it changed, but a group may be made again as another
	if group := c.of[t.pod.Namespace+"/"+name]; group != nil && group.Spec.SchedulingPolicy.Gang != nil {
		gang := group.Spec.SchedulingPolicy.Gang
		m.AllocationTags[pods.TagQuorum] = t.pod.Namespace + "/" + name
		m.AllocationTags[pods.TagQuorumLeast] = strconv.Itoa(int(gang.MinCount))
	}
}

// taskGroups are the gangs among the pod groups that the pods of an application name, by name.
// The size of a member is that of the oldest pod of the group. The lock must be held.
func (c *podGroups) taskGroups(app *application) []pods.TaskGroup {
	known := map[string]bool{}
	var found []pods.TaskGroup
	for _, t := range app.sorted() {
		name := groupName(t.pod)
		group := c.of[t.pod.Namespace+"/"+name]
		if group == nil || known[name] {
			continue
		}
		if gang, ok := pods.OfPodGroup(group, t.pod); ok && gang.Check() == nil { // the API server checks it too
			known[name] = true
			found = append(found, gang)
		}
	}
	slices.SortFunc(found, func(a, b pods.TaskGroup) int { return cmp.Compare(a.Name, b.Name) })
	return found
}
