package shimtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// scheduled are the status and the reason of each condition that says whether a pod has a node.
func scheduled(pod *v1.Pod) (found []string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled {
			found = append(found, fmt.Sprint(c.Status, " ", c.Reason))
		}
	}
	return found
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

// Each pod of a deployment that fits no node is told, and not the first alone: autoscalers count them. One that gets a node has
// one condition, which says so.
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
			fits := shimtest.NewNode("node-3", "cpu=400")
			fits.Labels["disk"] = "ssd"
			m.Create(fits)
			m.Advance(3 * time.Second)
			assert.DeepEqual(t, scheduled(m.Pod("late-0")), []string{"True "})
			m.Stop()
		})
	}
}

// Thousands of pods that wait are told at the pace of the options, which is 100 a second by itself.
func TestStatusesArePaced(t *testing.T) {
	for option, pace := range map[int]int{50: 50, 0: 100} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{Shim: shim.Options{StatusesPerSecond: option}})
			m.AddNode("node-1", "cpu=4")
			m.Start()
			replicas := 10 * pace
			for i := range replicas {
				m.Create(shimtest.NewPod(fmt.Sprint("web-", i), "cpu=9"))
			}
			m.Advance(3 * time.Second)
			told := wantNodes(m, "web", replicas)
			assert.Assert(t, told >= 2*pace && told <= 4*pace, "%d", told)
			m.Advance(10 * time.Second)
			assert.Equal(t, wantNodes(m, "web", replicas), replicas)
			assert.Assert(t, m.API.Requests("patch") <= 14*pace, "%d", m.API.Requests("patch"))
		})
	}
}

// says is the reason of the condition of a pod, and how long it is the status.
func says(pod *v1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled {
			return c.Reason
		}
	}
	return ""
}

const quotas = `
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: default
          - name: few
            resources: {max: {vcore: 3}}
          - name: one
            maxapplications: 1
`

// Each reason to wait has a condition of its own, and autoscalers bring nodes for those pods alone which they help: as many
// as their quota lets run, also with a kind of resource that no node has, and nodes larger than all there are.
func TestReasonsOfConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: quotas, Feasibility: filters})
		m.AddNode("node-1", "cpu=2 memory=8Gi")
		m.Start()
		pod := func(name, amounts string, options ...shimtest.PodOption) {
			m.AddPod(name, amounts, append([]shimtest.PodOption{shimtest.Application(name)}, options...)...)
		}
		pod("first", "cpu=1", shimtest.Queue("root.one"))
		pod("full", "cpu=1")
		m.Advance(time.Second)
		for i := range 5 { // three of them may run
			pod(fmt.Sprint("few-", i), "cpu=1", shimtest.Queue("root.few"))
		}
		pod("quota", "cpu=4", shimtest.Queue("root.few"))
		pod("gpu", "cpu=1 nvidia.com/gpu=1")
		pod("huge", "cpu=64")
		pod("ssd", "cpu=0", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
		pod("second", "cpu=1", shimtest.Queue("root.one"))
		pod("agent", "cpu=1", daemonset("node-1"))
		pod("refused", "cpu=1", shimtest.Queue("root.none"))
		pod("claim", "cpu=1", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "gone"}}}}
		})
		m.Advance(3 * time.Second)
		got := map[string]string{}
		for _, name := range []string{"quota", "gpu", "huge", "ssd", "second", "agent", "refused", "claim"} {
			got[name] = says(m.Pod(name))
			assert.Equal(t, wantsNode(m.Pod(name)), got[name] == "Unschedulable")
		}
		assert.DeepEqual(t, got, map[string]string{
			"quota": "QuotaExceeded", "gpu": "Unschedulable", "huge": "Unschedulable", "ssd": "Unschedulable",
			"second": "TooManyApplications", "agent": "MissingReference", "refused": "Refused", "claim": "ClaimNotReady",
		})
		assert.Equal(t, wantNodes(m, "few", 5), 3)
		m.Stop()
	})
}

// A condition changes with the reason, and stays no longer than that.
func TestConditionsAreCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: quotas, Feasibility: filters})
		m.AddNode("node-1", "cpu=1")
		m.Start()
		m.AddPod("full", "cpu=1")
		m.Advance(time.Second)
		few := []shimtest.PodOption{shimtest.Queue("root.few"), shimtest.Application("few")}
		for i := range 4 {
			m.AddPod(fmt.Sprint("few-", i), "cpu=1", few...)
		}
		m.Advance(3 * time.Second)
		assert.Equal(t, wantNodes(m, "few", 4), 3)
		since := m.Pod("few-3").Status.Conditions[0].LastTransitionTime

		m.AddNode("node-2", "cpu=8") // three run, and the quota keeps the fourth
		m.Advance(3 * time.Second)
		assert.Equal(t, wantNodes(m, "few", 4), 0)
		assert.Equal(t, says(m.Pod("few-3")), "QuotaExceeded")
		assert.DeepEqual(t, m.Pod("few-3").Status.Conditions[0].LastTransitionTime, since)

		m.ChangeNode("node-2", func(n *v1.Node) { n.Spec.Unschedulable = true })
		m.EndPod("few-0") // there is quota, and no node
		m.Advance(3 * time.Second)
		assert.Equal(t, says(m.Pod("few-3")), "Unschedulable")

		m.AddPod("urgent", "cpu=1", shimtest.Priority(9), shimtest.Application("urgent"))
		m.Advance(500 * time.Millisecond)
		assert.Equal(t, m.Pod("urgent").Status.NominatedNodeName, "node-1")
		assert.Equal(t, says(m.Pod("urgent")), "RoomIsMade")
		assert.Assert(t, !wantsNode(m.Pod("urgent")))
		m.Stop()
	})
}

// A pod whose claim comes while there is no room is one that a node helps from then on.
func TestClaimComesWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=1")
		m.Start()
		m.AddPod("web", "cpu=2", func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		})
		m.Advance(3 * time.Second)
		assert.Equal(t, says(m.Pod("web")), "ClaimNotReady")
		class, wait := "late", storage.VolumeBindingWaitForFirstConsumer
		m.Create(&storage.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "p", VolumeBindingMode: &wait})
		m.Create(&v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.Pod("web").Namespace, Name: "data", UID: "data"},
			Spec:       v1.PersistentVolumeClaimSpec{StorageClassName: &class},
		})
		m.Advance(3 * time.Second)
		assert.Equal(t, says(m.Pod("web")), "Unschedulable")
		m.Stop()
	})
}
