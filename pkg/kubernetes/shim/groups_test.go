package shim

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// An application is told to the core with the room that its pod groups need, in the style of
// those that run as a whole or not at all. A task group of an annotation comes before a pod
// group of its name.
func TestPodGroupsGoWithTheApplication(t *testing.T) {
	c := newCallback(t)
	c.groups.served = true
	pod := ourPod("")
	name := "train"
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
	c.AddPod(pod)
	assert.DeepEqual(t, c.sent(), []string{})
	assert.Equal(t, c.tasks["web"].waits, "its pod group train does not exist")

	group := &v1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	group.Spec.SchedulingPolicy.Gang = &v1alpha2.GangSchedulingPolicy{MinCount: 3}
	c.groups.AddPodGroup(group)
	request := c.sender.waiting[0].application
	assert.Equal(t, request.PlaceholderAsk.Resources["pods"].Value, int64(3))
	assert.Equal(t, request.GangSchedulingStyle, "Hard")
	assert.Equal(t, c.sender.waiting[1].allocation.TaskGroupName, name)

	same := []pods.TaskGroup{{Name: name, MinMember: 7}}
	assert.DeepEqual(t, c.groups.taskGroups(c.apps["app"], same), same)
}
