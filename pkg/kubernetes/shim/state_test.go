package shim

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// That a pod has got the node where it is assumed, or has started there, is nothing new to filters. Everything is that
// may change what else runs on the node, or beside the pod.
func TestStateCountsAs(t *testing.T) {
	amounts := func(cpu string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)} }
	assumed := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid", Generation: 1, ResourceVersion: "1", Labels: map[string]string{"app": "web"}},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: amounts("1")}}}},
	}
	for name, c := range map[string]struct {
		change func(*v1.Pod)
		alike  bool
	}{
		"confirmed": {func(pod *v1.Pod) { pod.ResourceVersion = "2" }, true},
		"started":   {func(pod *v1.Pod) { pod.Status.Phase = v1.PodRunning }, true},
		"elsewhere": {func(pod *v1.Pod) { pod.Spec.NodeName = "node-2" }, false},
		"labelled":  {func(pod *v1.Pod) { pod.Labels["app"] = "db" }, false},
		"ending":    {func(pod *v1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }, false},
		"changed":   {func(pod *v1.Pod) { pod.Generation = 2 }, false},
		"shrunk late": {func(pod *v1.Pod) {
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", AllocatedResources: amounts("2")}}
		}, false},
		"claims made": {func(pod *v1.Pod) {
			pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("web-gpu")}}
		}, false},
	} {
		pod := assumed.DeepCopy()
		c.change(pod)
		assert.Equal(t, stateOf(assumed).countsAs(stateOf(pod)), c.alike, name)
		assert.Equal(t, stateOf(pod).countsAs(stateOf(assumed)), c.alike, name)
	}
}
