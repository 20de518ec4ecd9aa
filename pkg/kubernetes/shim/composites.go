package shim

import (
	"maps"
	"slices"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// The pod groups in a composite one start together: as many of them as it says, each with its minimum. They are subgroups of one group for the
// core, or parts of subgroups where they are in a composite one that is in another.

// beginComposites forgets all composite groups.
func (c *podGroups) beginComposites() {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := slices.Sorted(maps.Keys(c.composites))
	clear(c.composites)
	clear(c.inner)
	for _, name := range gone {
		c.syncParts(name)
	}
}

// addComposite takes a composite group. What is not understood is none, so that its pods wait.
func (c *podGroups) addComposite(object *unstructured.Unstructured) {
	group, err := pods.ReadCompositePodGroup(object)
	c.mu.Lock()
	defer c.mu.Unlock()
	name := object.GetNamespace() + "/" + object.GetName()
	before, known := c.composites[name]
	c.inner.leave(name, before)
	c.inner.enter(name, group)
	if c.composites[name] = group; err != nil {
		c.log.Warn("composite pod group not understood; its pods wait", zap.Error(err))
		delete(c.composites, name)
	} else if group.Odd != "" && (!known || before.UID != group.UID) {
		c.log.Warn("composite pod group not fully understood", zap.String("compositePodGroup", name), zap.String("reason", group.Odd))
	}
	if !known || err != nil || before.Parent != group.Parent || !maps.Equal(before.Tags(), group.Tags()) {
		c.syncParts(name)
	}
}

func (c *podGroups) updateComposite(_, object *unstructured.Unstructured) { c.addComposite(object) }

// deleteComposite forgets a composite group. Pods of it without a node wait for another one of its name.
func (c *podGroups) deleteComposite(object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := object.GetNamespace() + "/" + object.GetName()
	c.inner.leave(name, c.composites[name])
	delete(c.composites, name)
	c.syncParts(name)
}

// syncParts sends what changes for the pods in a composite group, and in those in it, by the names of their groups. The lock must be held.
func (c *podGroups) syncParts(name string) {
	for _, of := range c.groupsIn(name) {
		c.syncMembers(of)
	}
}

// groupsIn are the pod groups in a composite one, and in those in it, by name. The lock must be held.
func (c *podGroups) groupsIn(composite string) []string {
	found, looked := map[string]bool{}, map[string]bool{}
	var look func(string)
	look = func(name string) {
		if looked[name] { // they may be in a circle
			return
		}
		looked[name] = true
		maps.Copy(found, c.parts[name])
		for inner := range c.inner[name] {
			look(inner)
		}
	}
	look(composite)
	return slices.Sorted(maps.Keys(found))
}

// byComposite are names of what is in composite groups, by the namespaces and names of these.
type byComposite map[string]map[string]bool

// enter and leave note that a group of a name is in the composite one that it names, if any.
func (b byComposite) enter(name string, group pods.PodGroup) {
	if group.Parent == "" {
		return
	}
	parent := group.Namespace + "/" + group.Parent
	if b[parent] == nil {
		b[parent] = map[string]bool{}
	}
	b[parent][name] = true
}

func (b byComposite) leave(name string, group pods.PodGroup) {
	parent := group.Namespace + "/" + group.Parent
	if delete(b[parent], name); len(b[parent]) == 0 {
		delete(b, parent)
	}
}
