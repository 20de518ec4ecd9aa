package shim

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A pod is told to the core with how many of its pod group start together; no placeholders are
// announced. A task group of an annotation comes before a pod group of its name.
func TestPodGroupsGoWithTheirPods(t *testing.T) {
	c := newCallback(t)
	pod := ourPod("")
	name := "train"
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
	c.AddPod(pod)
	assert.DeepEqual(t, c.sent(), []string{})
	assert.Equal(t, c.tasks["web"].waits, "the API server serves no pod groups, and it names pod group train")
	c.groups.begin("v1beta1")
	assert.Equal(t, c.tasks["web"].waits, "its pod group train does not exist")

	c.groups.Add(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": map[string]any{"namespace": "default", "name": name},
		"spec": map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(3)}}},
	}})
	request := c.sender.waiting[0].application
	assert.Assert(t, request.PlaceholderAsk == nil)
	told := c.sender.waiting[1].allocation
	assert.Equal(t, told.TaskGroupName, "")
	assert.Equal(t, told.AllocationTags[pods.TagQuorum], "default/train")
	assert.Equal(t, told.AllocationTags[pods.TagQuorumLeast], "3")

	c.apps["app"].gang = &gang{said: pods.Application{TaskGroups: []pods.TaskGroup{{Name: name, MinMember: 7}}}}
	m, _ := c.wanted(c.tasks["web"])
	assert.Equal(t, m.TaskGroupName, name)
	assert.Equal(t, m.AllocationTags[pods.TagQuorum], "")
}

// A member that has done its work is released in words that have it count on.
func TestMembersOfPodGroupsThatSucceed(t *testing.T) {
	for phase, want := range map[v1.PodPhase]string{v1.PodSucceeded: pods.Succeeded, v1.PodFailed: ""} {
		c := newCallback(t)
		pod := ourPod("")
		c.AddPod(pod)
		ended := pod.DeepCopy()
		ended.Status.Phase = phase
		c.UpdatePod(pod, ended)
		last := c.sender.waiting[len(c.sender.waiting)-1].release
		assert.Equal(t, last.AllocationKey, pods.Key(pod))
		assert.Equal(t, last.Message, want, phase)
	}
}

// Placeholders are made for a thousand members of a namespace and no more: a text of some bytes
// must not fill the API server.
func TestTooManyMembersAreNoGang(t *testing.T) {
	for members, want := range map[int]int{1000: 1000, 1001: 0, 10_000: 0, 2147483647: 0} {
		c := newCallback(t)
		pod := ourPod("")
		pod.Annotations = map[string]string{pods.AnnotationTaskGroups: fmt.Sprintf(`[{"name": "a", "minMember": %d}, {"name": "b", "minMember": 1}]`, members-1)}
		c.AddPod(pod)
		c.acceptApplication("app")
		assert.Equal(t, len(c.gangs.todo("app").create), want, "%d", members)
		assert.Equal(t, c.apps["app"].gang == nil, want == 0)
	}
}

// sharing has pods share claims of devices that are reached by a label.
type sharing struct {
	Feasibility
	label string
}

func (sharing) SetPodGroup(pods.PodGroup)       {}
func (sharing) RemovePodGroup(string, string)   {}
func (s sharing) SharedTopology(*v1.Pod) string { return s.label }

// A group whose pods share devices of one node requires one node, whatever else it requires. Another label counts if it requires none.
func TestGroupsRequireTheTopologyThatTheyShare(t *testing.T) {
	for _, c := range []struct{ requires, shares, want string }{
		{"", "", ""},
		{"", "rack", "rack"},
		{"block", "rack", "block"},
		{"block", v1.LabelHostname, v1.LabelHostname},
		{"block", "", "block"},
	} {
		cb := newCallback(t)
		cb.feasible.Feasibility = sharing{cb.feasible.Feasibility, c.shares}
		pod, name := ourPod(""), "train"
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "card", ResourceClaimName: &name}}
		cb.groups.begin("v1beta1")
		spec := map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(3)}}}
		if c.requires != "" {
			spec["schedulingConstraints"] = map[string]any{"topology": []any{map[string]any{"key": c.requires}}}
		}
		cb.groups.Add(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": map[string]any{"namespace": "default", "name": name}, "spec": spec,
		}})
		cb.AddPod(pod)
		told := cb.sender.waiting[1].allocation
		assert.Equal(t, told.AllocationTags[pods.TagQuorumRequire], c.want, "%v", c)
		cb.DeletePod(pod)
		assert.Equal(t, len(cb.groups.shared), 0)
	}
}
