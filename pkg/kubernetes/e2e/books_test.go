package e2e

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// aPod is one of scheduler ours on a node, with one CPU.
func aPod(name, node string) *corev1.Pod {
	p := pod(name, 1, Pod{CPU: "1", Memory: "1Ki"}.template(name, "ours"))
	p.UID, p.Spec.NodeName = types.UID(name), node
	return p
}

func aBooking(key string) Booked {
	return Booked{Key: key, Resource: map[string]int64{"vcore": 1000, "memory": 1024, "pods": 1}}
}

// TestDifferences starts with books that are right, and spoils them in one way at a time.
func TestDifferences(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(nodes []BookedNode, pods []*corev1.Pod)
		want  string
	}{
		{"right", func([]BookedNode, []*corev1.Pod) {}, ""},
		{"ended pods need not be booked", func(nodes []BookedNode, pods []*corev1.Pod) {
			nodes[0].Allocations = nodes[0].Allocations[1:]
			pods[0].Status.Phase = corev1.PodSucceeded
		}, ""},
		{"deleted pods are there until they are gone", func(nodes []BookedNode, pods []*corev1.Pod) {
			nodes[0].Allocations = nodes[0].Allocations[1:]
			pods[0].DeletionTimestamp = &metav1.Time{}
		}, "pod a-1 on n1 is not booked (a)"},
		{"not booked", func(nodes []BookedNode, _ []*corev1.Pod) { nodes[1].ForeignAllocations = nil }, "pod c-1 on n2 is not booked (c)"},
		{"no such pod", func(_ []BookedNode, pods []*corev1.Pod) { pods[1].Spec.NodeName = "" }, "b is booked on n1 and is no pod there"},
		{"other node", func(_ []BookedNode, pods []*corev1.Pod) { pods[1].Spec.NodeName = "n2" }, "pod b-1 is on n2 and booked on n1"},
		{"twice", func(nodes []BookedNode, _ []*corev1.Pod) { nodes[1].Allocations = nodes[0].Allocations[1:] }, "b is booked twice, on n1 and n2\npod b-1 is on n1 and booked on n2"},
		{"other amount", func(nodes []BookedNode, _ []*corev1.Pod) { nodes[0].Allocations[0].Resource["vcore"] = 999 }, "pod a-1 requests vcore 1000 and is booked with 999"},
		{"other list", func(_ []BookedNode, pods []*corev1.Pod) { pods[2].Spec.SchedulerName = "ours" }, "c is booked on n2 and is no pod there\npod c-1 on n2 is not booked (c)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nodes := []BookedNode{
				{NodeID: "n1", Allocations: []Booked{aBooking("a"), aBooking("b")}},
				{NodeID: "n2", ForeignAllocations: []Booked{aBooking("c")}},
			}
			pods := []*corev1.Pod{aPod("a", "n1"), aPod("b", "n1"), aPod("c", "n2"), aPod("waits", "")}
			pods[2].Spec.SchedulerName = "theirs"
			test.spoil(nodes, pods)
			assert.Equal(t, strings.Join(differences(nodes, pods, "ours"), "\n"), test.want)
		})
	}
}

func TestOvercommitted(t *testing.T) {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Allocatable: amounts("2", "1Gi")}}
	pods := []*corev1.Pod{aPod("a", "n1"), aPod("b", "n1"), aPod("c", "n2"), aPod("over", "n1")}
	pods[3].Status.Phase = corev1.PodFailed
	assert.Equal(t, len(overcommitted([]corev1.Node{node}, pods)), 0)
	pods[3].Status.Phase = corev1.PodRunning
	assert.Equal(t, strings.Join(overcommitted([]corev1.Node{node}, pods), "\n"), "pods on n1 request cpu 3, it has 2")
}

func TestBadLines(t *testing.T) {
	good := `{"level":"info","msg":"pod bound"}`
	assert.Equal(t, len(badLines(good+"\n"+good+"\n")), 0)
	klog := "E1123 10:00:00.000000 1 reflector.go:204] Failed to watch"
	assert.DeepEqual(t, badLines(strings.Join([]string{good, klog, `{"level":"info"}`}, "\n")), []string{
		"no entry: " + klog, `no entry: {"level":"info"}`,
	})
}
