package shim

import (
	"maps"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A resize is what a running pod waits for that its kubelet has put off, since the node has no room for it. The core
// knows the pod with the amounts that it has, and an ask for the rest which requires the node:
//
//	allocation of the pod + ask for its growth = what the API server says that the pod requests
//
// When the core has room, it places the ask. The rest is then counted for the pod, before the kubelet has seen the room,
// and the ask ends. It ends too when the kubelet is first, when the pod wants no more, and when the pod itself is to end.
type resize struct {
	sent    *si.Allocation // the ask, nil if the core knows of none
	asks    int            // how many there were
	granted *si.Resource   // what the core had room for
	refused *si.Resource   // the growth for which the core takes no ask
}

// growth divides what a pod requests into what it is booked with and the growth that it waits for. Where no resize is
// put off, both are nil: it is booked with what it requests. The lock must be held.
func (t *task) growth() (booked, waits *si.Resource) {
	if t.foreign() || !pods.IsDeferred(t.pod) {
		t.resize.granted, t.resize.refused = nil, nil
		return nil, nil
	}
	booked, has := &si.Resource{Resources: maps.Clone(t.takes.Resources)}, pods.Allocated(t.pod)
	growth := &si.Resource{Resources: map[string]*si.Quantity{}}
	for kind, wanted := range t.takes.Resources {
		amount := max(valueOf(has, kind), min(wanted.Value, valueOf(t.resize.granted, kind)))
		if amount < wanted.Value {
			growth.Resources[kind] = &si.Quantity{Value: wanted.Value - amount}
			booked.Resources[kind] = &si.Quantity{Value: amount}
		}
	}
	if len(growth.Resources) == 0 || t.eviction != nil || t.pod.DeletionTimestamp != nil {
		return booked, nil
	}
	return booked, growth
}

func valueOf(amounts *si.Resource, kind string) int64 { return amounts.GetResources()[kind].GetValue() }

// syncGrowth sends the difference between the growth that a pod waits for and what the core knows of it. The lock must be
// held.
func (c *Context) syncGrowth(t *task) {
	_, growth := t.growth()
	if growth == nil || t.told != placed || c.nodes[t.node] == nil || t.resize.refused != nil && sameResources(growth, t.resize.refused) {
		c.withdraw(t)
		return
	}
	ask := pods.Growth(t.pod, t.app.id, c.refers.classes[t.pod.Spec.PriorityClassName], growth, t.resize.asks+1)
	if sent := t.resize.sent; sent != nil && sameResources(sent.ResourcePerAlloc, growth) && sent.Priority == ask.Priority {
		return
	}
	// What is placed of one ask is never taken for another.
	c.withdraw(t)
	t.resize.sent = ask
	t.resize.asks++
	c.sender.put(message{allocation: ask})
}

// withdraw takes back the ask for the growth of a pod, or what was placed of it. The lock must be held.
func (c *Context) withdraw(t *task) {
	if t.resize.sent == nil {
		return
	}
	c.sender.put(message{release: &si.AllocationRelease{
		ApplicationID: t.app.id, AllocationKey: t.resize.sent.AllocationKey, TerminationType: si.TerminationType_STOPPED_BY_RM,
	}})
	t.resize.sent = nil
}

// growing is the pod of an ask for growth that the core was told of; nil for all other keys. The lock must be held.
func (c *Context) growing(key string) *task {
	t := c.tasks[pods.GrowingPod(key)]
	if t == nil || t.resize.sent == nil || t.resize.sent.AllocationKey != key {
		return nil
	}
	return t
}

// grown takes in that there is room for the growth of a pod. It is counted for the pod before the ask ends, so that
// nothing else takes the room. The lock must be held.
func (c *Context) grown(t *task) {
	granted := pods.Allocated(t.pod)
	for kind, more := range t.resize.sent.ResourcePerAlloc.Resources {
		// What was booked when the ask was sent, and what is booked now, differ by what the pod has got since.
		granted.Resources[kind] = &si.Quantity{Value: max(valueOf(granted, kind), valueOf(t.resize.granted, kind)) + more.Value}
	}
	t.resize.granted = granted
	c.sync(t)
}

// growthEnds takes in that the core has no ask for the growth of a pod any more. With refused it takes none. The lock must
// be held.
func (c *Context) growthEnds(t *task, refused bool) {
	if refused {
		t.resize.refused = t.resize.sent.ResourcePerAlloc
	}
	t.resize.sent = nil
	c.sync(t)
}
