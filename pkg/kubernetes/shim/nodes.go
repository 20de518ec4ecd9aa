package shim

import (
	"maps"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// AddNode takes a node. The core hears of it, of our pods that run there, and then that it
// may be used, in this order, so that nothing is placed on room that is taken. Pods of
// other schedulers are known to the core before their node is.
func (c *Context) AddNode(node *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.nodes[node.Name]
	if known != nil {
		c.changeNode(known, node)
		return
	}
	c.nodes[node.Name] = node
	c.feasible.SetNode(node)
	if !c.started {
		return
	}
	c.placeChanged(node.Name)
	c.sender.put(message{node: c.nodeInfo(node, si.NodeInfo_CREATE_DRAIN)})
	for _, t := range c.tasksOn(node.Name) {
		c.sync(t)
	}
	if !node.Spec.Unschedulable {
		c.sender.put(message{node: action(node, si.NodeInfo_DRAIN_TO_SCHEDULABLE)})
	}
}

// UpdateNode takes the new state of a node; it may be the first message about it. What a
// kubelet reports every few seconds is left out.
func (c *Context) UpdateNode(_, node *v1.Node) { c.AddNode(node) }

// DeleteNode takes the end of a node. What ran there is off the books of the core; its pods
// stay known here, and are sent again if the node comes back.
func (c *Context) DeleteNode(node *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[node.Name] == nil {
		return
	}
	delete(c.nodes, node.Name)
	delete(c.devices, node.Name)
	c.feasible.RemoveNode(node.Name)
	if !c.started {
		return
	}
	c.placeChanged(node.Name)
	c.sender.put(message{node: action(node, si.NodeInfo_DECOMISSION)})
	for _, t := range c.tasksOn(node.Name) {
		c.withdraw(t)
		t.unknown()
		t.waits = "its node is not known"
		if t.binding != nil {
			t.binding.revoke()
		}
	}
}

// podsOn is the pods on a node, of other schedulers too. The lock must be held.
func (c *Context) podsOn(node string) (found []*v1.Pod) {
	for _, t := range c.tasks {
		if t.node == node {
			found = append(found, t.running())
		}
	}
	return found
}

// tasksOn is the tasks that are ours on a node, by age. The lock must be held.
func (c *Context) tasksOn(node string) []*task {
	return slices.SortedFunc(maps.Values(c.onNode[node]), compareTasks)
}

// changeNode takes the new state of a known node. The lock must be held.
func (c *Context) changeNode(before, node *v1.Node) {
	c.nodes[node.Name] = node
	if !redescribed(before, node) {
		c.feasible.prefer.SetNode(node) // its images may be other ones
		return
	}
	c.feasible.SetNode(node)
	if !c.started {
		return
	}
	if !maps.Equal(before.Labels, node.Labels) || before.Spec.Unschedulable != node.Spec.Unschedulable || !equality.Semantic.DeepEqual(before.Spec.Taints, node.Spec.Taints) {
		c.placeChanged(node.Name)
	}
	// Also where the core has no field for what changed: it asks again about the node.
	c.sender.put(message{node: c.nodeInfo(node, si.NodeInfo_UPDATE)})
	switch {
	case node.Spec.Unschedulable && !before.Spec.Unschedulable:
		c.sender.put(message{node: action(node, si.NodeInfo_DRAIN_NODE)})
	case !node.Spec.Unschedulable && before.Spec.Unschedulable:
		c.sender.put(message{node: action(node, si.NodeInfo_DRAIN_TO_SCHEDULABLE)})
	}
}

// nodeInfo is a message about a node with what it has: of an extended resource that its kubelet does not offer, the
// devices that serve it. The lock must be held.
func (c *Context) nodeInfo(node *v1.Node, what si.NodeInfo_ActionFromRM) *si.NodeInfo {
	info := pods.NodeInfo(node, what)
	counts, _ := c.feasible.Feasibility.(deviceCounts)
	if counts == nil {
		return info
	}
	devices := counts.Devices(node.Name)
	c.devices[node.Name] = devices
	for name, count := range devices {
		if offered := info.SchedulableResource.Resources[name]; offered == nil || offered.Value == 0 {
			info.SchedulableResource.Resources[name] = &si.Quantity{Value: count}
		}
	}
	return info
}

// recountDevices tells the core of nodes where the number of devices has changed. The lock must be held.
func (c *Context) recountDevices() {
	counts, _ := c.feasible.Feasibility.(deviceCounts)
	if counts == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		if !maps.Equal(counts.Devices(name), c.devices[name]) {
			c.sender.put(message{node: c.nodeInfo(c.nodes[name], si.NodeInfo_UPDATE)})
		}
	}
}

// action is a message about a node that says nothing new of it.
func action(node *v1.Node, what si.NodeInfo_ActionFromRM) *si.NodeInfo {
	info := pods.NodeInfo(node, what)
	info.SchedulableResource = nil
	return info
}

// redescribed reports whether something about a node changed that matters to pods.
func redescribed(a, b *v1.Node) bool {
	return a.UID != b.UID || a.Spec.Unschedulable != b.Spec.Unschedulable ||
		!maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations) ||
		!equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) ||
		!equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) ||
		!slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, sameCondition) ||
		!slices.Equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures)
}

func sameCondition(a, b v1.NodeCondition) bool { return a.Type == b.Type && a.Status == b.Status }
