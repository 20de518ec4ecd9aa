package preferences

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A resizing pod changes as pods do that are resized while they run: any amount that is said of any of its containers, by the
// user or by the kubelet.
type resizing struct{ *rand.Rand }

func (r resizing) list() v1.ResourceList {
	list := v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		if r.IntN(3) > 0 {
			list[name] = *resource.NewQuantity(int64(r.IntN(3)), resource.DecimalSI)
		}
	}
	return list
}

func (r resizing) statuses(names ...string) (list []v1.ContainerStatus) {
	for _, name := range names {
		s := v1.ContainerStatus{Name: name}
		if r.IntN(3) > 0 {
			s.Resources, s.AllocatedResources = &v1.ResourceRequirements{Requests: r.list()}, r.list()
		}
		list = append(list, s)
	}
	return list
}

func (r resizing) change(pod *v1.Pod) {
	switch r.IntN(7) {
	case 0:
		pod.Spec.Containers[r.IntN(2)].Resources.Requests = r.list()
	case 1:
		pod.Spec.InitContainers[r.IntN(2)].Resources.Requests = r.list()
	case 2:
		pod.Status.ContainerStatuses = r.statuses([]string{"a", "b"}[:r.IntN(3)]...)
	case 3:
		pod.Status.InitContainerStatuses = r.statuses([]string{"c", "d"}[:r.IntN(3)]...)
	case 4:
		pod.Spec.Resources = nil
		if r.IntN(3) == 0 {
			pod.Spec.Resources = &v1.ResourceRequirements{Requests: r.list()}
		}
	case 5:
		pod.Status.Conditions = nil
		if r.IntN(3) == 0 {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Reason: v1.PodReasonInfeasible}}
		}
	case 6:
		pod.Status.Phase, pod.ResourceVersion = v1.PodRunning, "7"
	}
}

// What two states of a pod request is the same if they are alike, as long as it is no pod that is odd, and to see that takes no memory.
func TestRequestAlike(t *testing.T) {
	r := resizing{rand.New(rand.NewPCG(1, 2))}
	always := v1.ContainerRestartPolicyAlways
	alike, unlike := 0, 0
	for range 300 {
		pod := &v1.Pod{Spec: v1.PodSpec{
			Containers:     []v1.Container{{Name: "a"}, {Name: "b"}},
			InitContainers: []v1.Container{{Name: "c", RestartPolicy: &always}, {Name: "d"}},
		}}
		for range 20 {
			before := pod.DeepCopy()
			for range r.IntN(3) {
				r.change(pod)
			}
			if requestAlike(before, pod) {
				alike++
				assert.Equal(t, requestsOf(before), requestsOf(pod), "%+v\n%+v", before, pod)
			} else if requestsOf(before) != requestsOf(pod) {
				unlike++
			}
		}
	}
	assert.Assert(t, alike > 1000 && unlike > 500, "%d alike, %d unlike", alike, unlike)
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: r.list()}}}}}
	other := pod.DeepCopy()
	assert.Equal(t, testing.AllocsPerRun(100, func() { requestAlike(pod, other) }), 0.0)
}

// A pod that is said again is not looked through again: what it requests is worked out when it comes, and when it changes.
func TestRequestsOfAPodAreReadOnce(t *testing.T) {
	w := newLoadWorld(t)
	pod := w.newPod("a", map[string]string{"cpu": "1"})
	pod.Spec.NodeName = "n"
	w.scorer.SetPod(pod)
	for _, ready := range []bool{false, true} {
		now := pod.DeepCopy()
		now.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "a", Ready: ready, Resources: &v1.ResourceRequirements{}}}
		w.scorer.SetPod(now)
		assert.Assert(t, w.scorer.pods[pod.UID].Pod == now)
	}
	again := w.scorer.pods[pod.UID].Pod.DeepCopy()
	assert.Assert(t, testing.AllocsPerRun(100, func() { w.scorer.SetPod(again) }) < 2)
}
