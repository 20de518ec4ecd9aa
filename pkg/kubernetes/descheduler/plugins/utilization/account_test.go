package utilization

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// TestRequestsAreThoseOfKubernetes: however the requests of a pod are read, and whatever was read
// before, they are what Kubernetes counts.
func TestRequestsAreThoseOfKubernetes(t *testing.T) {
	container := func(requests string) v1.Container {
		return v1.Container{Resources: v1.ResourceRequirements{Requests: ft.Amounts(requests)}}
	}
	dimensions := []dimension{{name: v1.ResourceCPU}, {name: v1.ResourceMemory}, {name: v1.ResourcePods}, {name: "gpu"}}
	scratch := v1.ResourceList{}
	for name, edit := range map[string]func(*v1.PodSpec){
		"one container":   func(*v1.PodSpec) {},
		"no requests":     func(s *v1.PodSpec) { s.Containers = []v1.Container{{}} },
		"two containers":  func(s *v1.PodSpec) { s.Containers = append(s.Containers, container("cpu=500u gpu=1")) },
		"init containers": func(s *v1.PodSpec) { s.InitContainers = []v1.Container{container("memory=9Gi")} },
		"side-cars": func(s *v1.PodSpec) {
			s.InitContainers = []v1.Container{container("memory=1Gi")}
			s.InitContainers[0].RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		},
		"overhead":        func(s *v1.PodSpec) { s.Overhead = ft.Amounts("cpu=100m") },
		"the whole pod":   func(s *v1.PodSpec) { s.Resources = &v1.ResourceRequirements{Requests: ft.Amounts("cpu=3")} },
		"no containers":   func(s *v1.PodSpec) { s.Containers = nil },
		"another request": func(s *v1.PodSpec) { s.Containers = append(s.Containers, container("memory=1500m")) },
	} {
		pod := ft.Pod("ns/p", "n", "cpu=500u memory=1Gi")
		edit(&pod.Spec)
		before := pod.DeepCopy()
		want := resource.PodRequests(pod, resource.PodResourcesOptions{})
		got := requestsOf(pod, dimensions, scratch)
		assert.DeepEqual(t, got, []int64{amountOf(want, v1.ResourceCPU), amountOf(want, v1.ResourceMemory), 1, amountOf(want, "gpu")})
		assert.DeepEqual(t, pod, before)
		assert.Assert(t, name != "two containers" || got[0] == 1, "%v", got) // half a thousandth twice
	}
}

// TestAbsurdAmounts: pods whose amounts are beyond counting do not make their node look empty, and
// negative ones do not either.
func TestAbsurdAmounts(t *testing.T) {
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, "gpu"}
	a := &account{all: []int64{4000, 4 << 30, 8}, used: make([]int64, 3)}
	limits := []Percentage{full / 2, full / 2, full / 2}
	for _, amounts := range []string{"cpu=9E memory=9E gpu=9E", "cpu=100E memory=100E gpu=100E", "cpu=-9E memory=-9E gpu=-9E"} {
		var one []int64
		for _, name := range names {
			one = append(one, amountOf(ft.Amounts(amounts), name))
		}
		for range 2000 {
			a.add(one, 1)
		}
		for i := range names {
			assert.Assert(t, a.over(limits, []int{i}), "%s: %d", names[i], a.used[i])
			assert.Assert(t, !a.holds(one, limits))
		}
	}
}
