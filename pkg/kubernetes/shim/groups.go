package shim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// podGroups are the pod groups by namespace and name, in the version that the API server
// serves. A pod that names one waits until it is there, as with kube-scheduler, also where none
// is served: without it nothing says whether it is a gang. Pods that have their node need none.
// They are guarded by the lock of the context. What a message costs is that of the pods of its group.
type podGroups struct {
	*Context
	source   *groupSource
	statuses *groupStatuses
	version  string // that is read; empty while none is served
	of       map[string]pods.PodGroup
	shared   map[string]string                   // by group with pods, findShared
	members  map[string]map[string]*task         // our pods that take room or wait, by group and key
	done     map[string]map[string]*succeededPod // those that have succeeded, by group and key

	together map[string]map[string]string // what pods say of those without placeholders, by groupName

	composites pods.Composites
	parts      byComposite // the groups that name a composite one, which may not be there
	inner      byComposite // the composite ones that do
}

func newPodGroups(c *Context) *podGroups {
	g := &podGroups{Context: c, of: map[string]pods.PodGroup{}, shared: map[string]string{}, members: map[string]map[string]*task{}, done: map[string]map[string]*succeededPod{}}
	g.together = map[string]map[string]string{}
	g.composites, g.parts, g.inner = pods.Composites{}, byComposite{}, byComposite{}
	g.source = newGroupSource(g)
	g.statuses = newGroupStatuses(g)
	return g
}

// podGroupName names the group of a pod; empty for none.
func podGroupName(pod *v1.Pod) string {
	if name := pods.PodGroupOf(pod); name != "" {
		return pod.Namespace + "/" + name
	}
	return ""
}

// came and left keep the lists of pods by group. The lock must be held.
func (c *podGroups) came(t *task) {
	if name := podGroupName(t.pod); name != "" {
		if c.members[name] == nil {
			c.members[name] = map[string]*task{}
		}
		c.members[name][t.key()] = t
	}
}

func (c *podGroups) left(t *task) {
	name := podGroupName(t.pod)
	if delete(c.members[name], t.key()); len(c.members[name]) == 0 {
		delete(c.members, name)
		delete(c.shared, name)
	}
}

// begin forgets all groups, and has those count that are told of from now on, of a version;
// an empty one is that none is served.
func (c *podGroups) begin(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
	c.statuses.forgetAll()
	clear(c.of)
	clear(c.parts)
	for _, name := range slices.Sorted(maps.Keys(c.members)) {
		c.syncMembers(name)
	}
}

// Add takes a pod group. Its pods that waited for it are sent. One that is not understood is
// none, so that its pods wait.
func (c *podGroups) Add(object *unstructured.Unstructured) {
	group, err := pods.ReadPodGroup(object)
	c.mu.Lock()
	defer c.mu.Unlock()
	name := object.GetNamespace() + "/" + object.GetName()
	if err != nil {
		c.log.Warn("pod group not understood; its pods wait", zap.Error(err))
		c.parts.leave(name, c.of[name])
		delete(c.of, name)
		c.statuses.unreadable(name, pods.HeadOfPodGroup(object), err)
		c.syncMembers(name)
		return
	}
	before, known := c.of[name]
	c.parts.leave(name, before)
	c.of[name] = group
	c.parts.enter(name, group)
	if shares, ok := c.feasible.Feasibility.(sharedClaims); ok {
		shares.SetPodGroup(group)
	}
	isNew := !known || before.UID != group.UID
	if isNew {
		c.forgetDone(name, group)
		c.warnOdd(group)
	}
	if isNew || before.Parent != group.Parent || !maps.Equal(before.Tags(), group.Tags()) {
		c.syncMembers(name)
	}
	c.statuses.came(name, group)
}

// warnOdd says what is not understood of a group and taken for the safe side. The lock must be held.
func (c *podGroups) warnOdd(group pods.PodGroup) {
	if group.Odd != "" {
		c.log.Warn("pod group not fully understood", zap.String("podGroup", group.Namespace+"/"+group.Name), zap.String("reason", group.Odd))
		c.statuses.warn(group, reasonUnreadable, group.Odd)
	}
}

// Update takes the new state of a pod group.
func (c *podGroups) Update(_, object *unstructured.Unstructured) { c.Add(object) }

// Delete forgets a pod group. Its pods without a node wait for another one of its name.
func (c *podGroups) Delete(object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := object.GetNamespace() + "/" + object.GetName()
	was := c.of[name]
	c.parts.leave(name, was)
	delete(c.of, name)
	if shares, ok := c.feasible.Feasibility.(sharedClaims); ok {
		shares.RemovePodGroup(object.GetNamespace(), object.GetName())
	}
	c.statuses.left(name, was)
	c.syncMembers(name)
}

// syncMembers sends what changes for the pods of a group, by age, and at once: the core must not see some of them in the group and the
// others not yet. The lock must be held.
func (c *podGroups) syncMembers(name string) {
	if !c.started || len(c.members[name]) == 0 {
		return
	}
	c.sender.together(func() {
		for _, t := range slices.SortedFunc(maps.Values(c.members[name]), compareTasks) {
			c.sync(t)
		}
	})
}

// waits says for which pod group a pod waits, or nothing. The lock must be held.
func (c *podGroups) waits(pod *v1.Pod) string {
	name := pods.PodGroupOf(pod)
	group, known := c.of[pod.Namespace+"/"+name]
	switch {
	case name == "":
		return ""
	case known:
		_, why := c.composites.Of(group)
		return why
	case c.version == "":
		return "the API server serves no pod groups, and it names pod group " + name
	}
	return "its pod group " + name + " does not exist"
}

// mark says in a message about a pod what its pod group is: how many start together, and what counts for all of them. The core holds
// it back until so many of them run or can be placed at once. No placeholders are made: pods of
// the group that are there are what the core looks for room for. A pod of a task group, which
// has placeholders, waits for those instead. The lock must be held.
func (c *podGroups) mark(t *task, m *si.Allocation) {
	name, starts := pods.PodGroupOf(t.pod), groupName(t.pod)
	if c.together[starts] == nil && (name == "" || m.TaskGroupName != name || m.Placeholder || t.app.gang.has(name)) {
		return
	}
	m.TaskGroupName = "" // the core does not have it changed, but a group may be made again as another
	c.findShared(t.pod)
	tags := c.tagsOf(starts, pods.IndexOf(t.pod), t.pod.Labels[pods.LabelSubgroup])
	if tags == nil {
		return
	}
	group := c.of[podGroupName(t.pod)]
	maps.Copy(m.AllocationTags, tags)
	if group.Priority != nil && *group.Priority != m.Priority && t.told == untold {
		says := fmt.Sprintf("pod %s has priority %d, and its pod group %s has %d, which counts", t.pod.Name, m.Priority, name, *group.Priority)
		c.events.warn(t.pod, reasonOtherPriority, says)
		c.statuses.warn(group, reasonOtherPriority, says)
	}
}

// findShared notes the label of nodes of which all pods of a group run in one value, since some of them share claims of devices. All are
// told of it that are told of from then on, and what is told last counts. The lock must be held.
func (c *podGroups) findShared(pod *v1.Pod) {
	group := podGroupName(pod)
	if shares, ok := c.feasible.Feasibility.(sharedClaims); ok && group != "" && len(pod.Spec.ResourceClaims) > 0 {
		if label := shares.SharedTopology(pod); label != "" {
			c.shared[group] = label
		}
	}
}

// taskGroups are the gangs among the pod groups that the pods of an application name, by name.
// The size of a member is that of the oldest pod of the group. The lock must be held.
func (c *podGroups) taskGroups(app *application) []pods.TaskGroup {
	known := map[string]bool{}
	var found []pods.TaskGroup
	for _, t := range app.sorted() {
		group, there := c.of[podGroupName(t.pod)]
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
