package pods_test

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A pod whose resize is put off has what its kubelet says. The ask for more is for its node, in no task group, and just
// below the pod in priority.
func TestGrowth(t *testing.T) {
	has := v1.ResourceRequirements{Requests: list("cpu", "1", "memory", "2Gi")}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid", Annotations: map[string]string{pods.AnnotationTaskGroup: "workers"}},
		Spec:       v1.PodSpec{NodeName: "node-1", Priority: new(int32(5)), Containers: []v1.Container{container("cpu", "3", "memory", "1Gi")}},
		Status: v1.PodStatus{
			Phase:             v1.PodRunning,
			Conditions:        []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}},
			ContainerStatuses: []v1.ContainerStatus{{Resources: &has, AllocatedResources: has.Requests}},
		},
	}
	assert.Assert(t, pods.IsDeferred(pod))
	assert.DeepEqual(t, plain(pods.Allocated(pod)), map[string]int64{"pods": 1, "vcore": 1000, "memory": 2 << 30})
	assert.DeepEqual(t, plain(pods.Resources(pod)), map[string]int64{"pods": 1, "vcore": 3000, "memory": 2 << 30})

	amounts := pods.Amounts(list("cpu", "2"))
	ask := pods.Growth(pod, "app", nil, amounts, 7)
	assert.Equal(t, ask.AllocationKey, "uid-growth-7")
	assert.Equal(t, pods.GrowingPod(ask.AllocationKey), "uid")
	assert.Equal(t, pods.GrowingPod("uid"), "")
	assert.Equal(t, ask.NodeID+ask.TaskGroupName, "")
	assert.Equal(t, ask.AllocationTags[pods.TagRequired], "node-1")
	assert.Equal(t, ask.Priority, int32(4))
	assert.Assert(t, ask.PreemptionPolicy == nil)

	pod.Spec.Priority = new(int32(math.MinInt32))
	ask = pods.Growth(pod, "app", nil, amounts, 1)
	assert.Equal(t, ask.Priority, int32(math.MinInt32))
	assert.Assert(t, !ask.PreemptionPolicy.AllowPreemptOther) // nothing is less important

	pod.Status.Conditions[0].Reason = v1.PodReasonInfeasible
	assert.Assert(t, !pods.IsDeferred(pod))
}
