package feasibility

import (
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/podlabels"
)

// AnyClass is the name of a change of classes for Watch: pods that were alike may be so no longer.
const AnyClass = "classes"

// namedNumbers says which numbers a term of anti-affinity names, of a pod that runs or waits. It refuses some pods
// of a controller, and others not. What was named once stays so: seldom anything names one, and no class comes back.
type namedNumbers struct {
	bits    atomic.Uint32 // podlabels.Numbers
	mu      sync.Mutex
	changed []func(name string)
}

// watch has a function called when another number is named.
func (n *namedNumbers) watch(changed func(name string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed = append(n.changed, changed)
}

// learn takes note of the terms of a pod.
func (n *namedNumbers) learn(pod *v1.Pod) {
	bits := uint32(podlabels.NamedBy(antiAffinityOf(pod)...))
	if bits == 0 || n.bits.Or(bits)&bits == bits {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, changed := range n.changed {
		changed(AnyClass)
	}
}

func (n *namedNumbers) all() podlabels.Numbers { return podlabels.Numbers(n.bits.Load()) }

// Learn takes note of a pod that waits, before Class is asked about others: they may be of other classes because of it. Class
// does so for its own pod, and SetPod for those that run.
func (c *Checker) Learn(pod *v1.Pod) { c.named.learn(pod) }

// ClassVersion is another number when pods may be of other classes than before.
func (c *Checker) ClassVersion() uint64 {
	return c.relabelled.Load()<<podlabels.NumbersMax | uint64(c.named.all())
}

// labelsOf is the labels of a pod that selectors may tell apart, and the names of those that are left out: the numbers that no
// selector names, of the pod itself or of anti-affinity. A pod without a number is in another class than those of which it is left out.
func (c *Checker) labelsOf(pod *v1.Pod) (looked map[string]string, left []string) {
	named := c.named.all() | podlabels.NamedBy(affinityTermsOf(pod)...) | podlabels.NamedBySpread(pod.Spec.TopologySpreadConstraints)
	return podlabels.Without(pod.Labels, named)
}
