package shim

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
)

// Filters look at the spec and the labels of a pod, and at the names of its claims. Most changes are of the status, and cost
// no comparison: the API server counts those of the spec, but for the node.
func TestRespecified(t *testing.T) {
	for _, c := range []struct {
		what    string
		change  func(*v1.Pod)
		changed bool
	}{
		{"nothing", func(*v1.Pod) {}, false},
		{"its status", func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }, false},
		{"its labels", func(p *v1.Pod) { p.Labels = map[string]string{"app": "web"} }, true},
		{"its node", func(p *v1.Pod) { p.Spec.NodeName = "node-2" }, true},
		{"the names of its claims", func(p *v1.Pod) {
			p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("gpu-1")}}
		}, true},
		{"its spec", func(p *v1.Pod) { p.Generation, p.Spec.SchedulingGates = p.Generation+1, nil }, true},
	} {
		for _, counted := range []bool{true, false} {
			before := ourPod("node-1")
			before.Generation = 0
			before.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "later"}}
			if counted {
				before.Generation = 1
			}
			after := before.DeepCopy()
			c.change(after)
			if !counted {
				after.Generation = 0
			}
			assert.Equal(t, respecified(before, after), c.changed, "%s, counted: %t", c.what, counted)
		}
	}
	before := ourPod("node-1")
	before.Generation = 1
	before.Spec.Containers = []v1.Container{{Name: "main", Env: []v1.EnvVar{{Name: "SIZE", Value: "3"}}}}
	after := before.DeepCopy()
	assert.Equal(t, testing.AllocsPerRun(100, func() { respecified(before, after) }), 0.0)
	before.Spec.Containers = nil // the API server would count it
	assert.Assert(t, !respecified(before, after), "specs with the same count are not compared")
}
