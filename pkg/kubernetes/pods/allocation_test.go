package pods_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

var created = time.Unix(1700000000, 0)

func TestAsk(t *testing.T) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "dev", Name: "p", UID: "u-1", CreationTimestamp: metav1.NewTime(created),
			Labels:      text{"app": "web"},
			Annotations: text{"yunikorn.apache.org/allow-preemption": "false", pods.AnnotationTaskGroup: "g", pods.AnnotationHolder: "true"},
		},
		Spec: v1.PodSpec{
			Priority: new(int32(7)), Containers: []v1.Container{container("cpu", "1")}, TerminationGracePeriodSeconds: new(int64(30)),
		},
		Status: v1.PodStatus{NominatedNodeName: "n1"},
	}
	assert.Assert(t, !pods.Ask(pod, nil, "a", nil).Placeholder, "whoever made it")
	pod.Status.Conditions = []v1.PodCondition{{Type: pods.ConditionPlaceholder, Status: v1.ConditionTrue}}
	ask := pods.Ask(pod, pods.Resources(pod), "a", nil)
	assert.Equal(t, ask.AllocationKey, "u-1")
	assert.DeepEqual(t, plain(ask.ResourcePerAlloc), map[string]int64{"pods": 1, "vcore": 1000})
	assert.Equal(t, ask.ApplicationID, "a")
	assert.Equal(t, ask.NodeID, "")
	assert.Equal(t, ask.Priority, int32(7))
	assert.Equal(t, ask.TaskGroupName, "g")
	assert.Assert(t, ask.Placeholder)
	assert.Assert(t, ask.PreemptionPolicy == nil)
	want := text{
		"kubernetes.io/meta/namespace": "dev", "kubernetes.io/meta/podName": "p", "kubernetes.io/label/app": "web",
		"creationTime": "1700000000", "qosClass": "Burstable", "terminationGracePeriodSeconds": "30",
		"yunikorn.apache.org/allow-preemption": "false", "nominatedNodeName": "n1",
	}
	assert.DeepEqual(t, ask.AllocationTags, want)

	pod.Spec.NodeName = "n1"
	delete(want, "nominatedNodeName")
	ask = pods.Ask(pod, nil, "a", nil)
	assert.DeepEqual(t, ask.AllocationTags, want)
}

func TestPreemptionPolicy(t *testing.T) {
	never := v1.PreemptNever
	class := func(value string) *scheduling.PriorityClass {
		return &scheduling.PriorityClass{ObjectMeta: metav1.ObjectMeta{Annotations: text{"yunikorn.apache.org/allow-preemption": value}}}
	}
	for name, c := range map[string]struct {
		policy *v1.PreemptionPolicy
		class  *scheduling.PriorityClass
		want   *si.PreemptionPolicy
	}{
		"nothing stated":                   {},
		"never preempts":                   {policy: &never, want: &si.PreemptionPolicy{AllowPreemptSelf: true}},
		"a class that is not preempted":    {class: class("false"), want: &si.PreemptionPolicy{AllowPreemptOther: true}},
		"both":                             {policy: &never, class: class("false"), want: &si.PreemptionPolicy{}},
		"a class that says it is all well": {class: class("true")},
		"a class that says nonsense":       {class: class("maybe")},
	} {
		t.Run(name, func(t *testing.T) {
			got := pods.Ask(&v1.Pod{Spec: v1.PodSpec{PreemptionPolicy: c.policy}}, nil, "a", c.class).PreemptionPolicy
			assert.Equal(t, got == nil, c.want == nil)
			assert.Equal(t, got.GetAllowPreemptSelf(), c.want.GetAllowPreemptSelf())
			assert.Equal(t, got.GetAllowPreemptOther(), c.want.GetAllowPreemptOther())
		})
	}
}

func TestCreateAllocationForForeignPod(t *testing.T) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "u-2", CreationTimestamp: metav1.NewTime(created)},
		Spec:       v1.PodSpec{NodeName: "n2", Containers: []v1.Container{container("memory", "1Gi")}},
		Status:     v1.PodStatus{NominatedNodeName: "n9"},
	}
	foreign := pods.CreateAllocationForForeignPod(pod, pods.Resources(pod))
	assert.Equal(t, foreign.ApplicationID, "")
	assert.Equal(t, foreign.NodeID, "n2")
	assert.Equal(t, foreign.AllocationTags["foreign"], "default")
	assert.Equal(t, foreign.AllocationTags["nominatedNodeName"], "")
	assert.DeepEqual(t, plain(foreign.ResourcePerAlloc), map[string]int64{"pods": 1, "memory": 1 << 30})
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n2"}}
	assert.Equal(t, pods.CreateAllocationForForeignPod(pod, nil).AllocationTags["foreign"], "static")
}

// Kubernetes says when the grace period of a pod ends; the scheduler is told when it began.
func TestTerminatingTag(t *testing.T) {
	end := metav1.NewTime(created.Add(30 * time.Second))
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &end, DeletionGracePeriodSeconds: new(int64(30))}}
	assert.Equal(t, pods.CreateTagsForTask(pod, false)["terminating"], "1700000000")
	assert.Equal(t, pods.CreateTagsForTask(pod, true)["terminating"], "1700000000")
	assert.Equal(t, pods.CreateTagsForTask(&v1.Pod{}, false)["terminating"], "")

	// The deletion says how long it may take.
	pod.Spec.TerminationGracePeriodSeconds = new(int64(3600))
	assert.Equal(t, pods.CreateTagsForTask(pod, false)["terminationGracePeriodSeconds"], strconv.FormatInt(*pod.DeletionGracePeriodSeconds, 10))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
	assert.Equal(t, pods.CreateTagsForTask(pod, false)["terminationGracePeriodSeconds"], "3600")
}

func TestNodeInfo(t *testing.T) {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: text{
			"node.kubernetes.io/instance-type": "large", "topology.kubernetes.io/zone": "a", "kubernetes.io/arch": "arm64", "kubernetes.io/hostname": "h1",
			"example.com/rack": "r7", "node-role.kubernetes.io/worker": "", "ready": "false",
		}},
		Spec: v1.NodeSpec{Taints: []v1.Taint{
			{Key: "team", Value: "a", Effect: v1.TaintEffectNoSchedule},
			{Key: "x.io/gpu", Effect: v1.TaintEffectNoExecute},
			{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule},
			{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute},
		}},
		Status: v1.NodeStatus{Allocatable: list("cpu", "3920m", "memory", "1Gi", "pods", "110"), Capacity: list("cpu", "4")},
	}
	info := pods.NodeInfo(node, si.NodeInfo_CREATE_DRAIN)
	assert.Equal(t, info.NodeID, "n1")
	assert.Equal(t, info.Action, si.NodeInfo_CREATE_DRAIN)
	assert.DeepEqual(t, plain(info.SchedulableResource), map[string]int64{"vcore": 3920, "memory": 1 << 30, "pods": 110})
	assert.DeepEqual(t, info.Attributes, text{
		"si/hostname": "h1", "si/rackname": "/rack-default", "si/instance-type": "large", "si/zone": "a", "si/arch": "arm64",
		"node.kubernetes.io/instance-type": "large", "topology.kubernetes.io/zone": "a", "kubernetes.io/arch": "arm64", "kubernetes.io/hostname": "h1",
		"example.com/rack": "r7", "si/taint/team": "a", "si/taint/x.io/gpu": "true",
	}) // labels without a value are left out, and none stands for what the node says itself
}

// A node that says that it is not ready, or says nothing any more, has the attribute ready.
func TestReadiness(t *testing.T) {
	for status, said := range map[v1.ConditionStatus]string{v1.ConditionTrue: "", v1.ConditionFalse: "false", v1.ConditionUnknown: "false"} {
		node := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}}}
		assert.Equal(t, pods.NodeInfo(node, si.NodeInfo_UPDATE).Attributes["ready"], said)
	}
	assert.Equal(t, pods.NodeInfo(&v1.Node{}, si.NodeInfo_UPDATE).Attributes["ready"], "")
}
