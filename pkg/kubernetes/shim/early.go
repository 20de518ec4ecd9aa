package shim

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
)

// A placement is counted when the core announces it. Before that the core asks about no pods that waited when it was decided and
// to which the placement has ties. Those that come after that are asked about at once, so what has ties to them is counted early.

// A Feasibility may have plugins for which every placement is counted as soon as the core has decided it.
type countsEarly interface{ CountsEarly() bool }

// decided are placements that the core has decided and not announced. They are guarded by the lock of the context.
type decided struct {
	all bool                 // are counted early
	of  map[string]*decision // by the key of the pod
}

// A decision is the node that the core chose for a pod, and whether the pod is counted there early.
type decision struct {
	node    string
	counted bool
}

func newDecided(f Feasibility) decided {
	is, ok := f.(countsEarly)
	return decided{all: ok && is.CountsEarly(), of: map[string]*decision{}}
}

// decides notes a placement that the core has decided, or with an empty node that there is none any more.
func (c *Context) decides(key, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetDecided(key)
	t := c.tasks[key]
	if node == "" || t == nil || t.node != "" {
		return
	}
	d := &decision{node: node}
	c.decided.of[key] = d
	if c.decided.all {
		c.countEarly(t, d)
	}
}

// comes counts early what has ties to a pod that comes to wait as the first of its class.
func (c *Context) comes(ties *feasibility.Ties) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, d := range c.decided.of {
		if t := c.tasks[key]; t != nil && !d.counted && ties.To(feasibility.TiesOf(t.pod)) {
			c.countEarly(t, d)
		}
	}
}

// countEarly counts a pod on the node that was decided. The lock must be held.
func (c *Context) countEarly(t *task, d *decision) {
	pod := *t.pod
	pod.Spec.NodeName = d.node
	c.feasible.SetPod(&pod)
	d.counted = true
}

// forgetDecided counts a pod no more that was counted early: its placement is announced, or there is none any more. The lock
// must be held.
func (c *Context) forgetDecided(key string) {
	if d := c.decided.of[key]; d != nil && d.counted {
		c.feasible.RemovePod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(key)}})
	}
	c.runs(key)
}

// runs notes that the API server says where a pod runs, whatever was decided. The lock must be held.
func (c *Context) runs(key string) {
	delete(c.decided.of, key)
}
