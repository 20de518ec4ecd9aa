package shimtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// wantsNode says whether Cluster Autoscaler and Karpenter bring a node for a pod: it has no node, none is nominated,
// and its condition says that it is unschedulable. Karpenter looks at the reason of the condition alone.
func wantsNode(pod *v1.Pod) bool {
	if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" || pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled {
			return c.Reason == v1.PodReasonUnschedulable
		}
	}
	return false
}

// wantNodes counts the pods of a name with a number for which autoscalers bring nodes.
func wantNodes(m *shimtest.MockScheduler, name string, pods int) (count int) {
	for i := range pods {
		if wantsNode(m.Pod(fmt.Sprint(name, "-", i))) {
			count++
		}
	}
	return count
}

// Each pod of a deployment that fits no node is told, and not the first alone: autoscalers count them.
func TestEachPodIsUnschedulable(t *testing.T) {
	const replicas = 20
	for name, c := range map[string]struct {
		amounts string
		option  shimtest.PodOption
	}{
		"no room": {"cpu=9", func(*v1.Pod) {}},
		"refused": {"cpu=1", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{Feasibility: filters})
			m.AddNode("node-1", "cpu=4")
			m.AddNode("node-2", "cpu=4")
			m.Start()
			for i := range replicas {
				m.Create(shimtest.NewPod(fmt.Sprint("web-", i), c.amounts, c.option))
			}
			m.Advance(3 * time.Second)
			assert.Equal(t, wantNodes(m, "web", replicas), replicas, name)
			m.Create(shimtest.NewPod("late-0", c.amounts, c.option))
			m.Advance(3 * time.Second)
			assert.Equal(t, wantNodes(m, "late", 1), 1, name)
			m.Stop()
		})
	}
}

// Thousands of pods that wait are told at the pace of the options. A nominated node comes before them.
func TestStatusesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Shim: shim.Options{StatusesPerSecond: 50}})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		const replicas = 500
		for i := range replicas {
			m.Create(shimtest.NewPod(fmt.Sprint("web-", i), "cpu=9"))
		}
		m.Advance(3 * time.Second)
		told := wantNodes(m, "web", replicas)
		assert.Assert(t, told >= 100 && told <= 200, "%d", told)
		m.Advance(10 * time.Second)
		assert.Equal(t, wantNodes(m, "web", replicas), replicas)
		assert.Equal(t, m.API.Requests("patch"), replicas)
	})
}
