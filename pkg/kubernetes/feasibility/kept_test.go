package feasibility

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is pods of one class that look at others. It is asked about again and again.
func (h *history) workload() *v1.Pod {
	for {
		pod := h.pod()
		switch h.IntN(3) { // what is kept longest, and is wrong first if a change is missed
		case 0:
			spread("app", h.app(), h.topology())(pod)
		case 1:
			spread("app", h.app(), v1.LabelHostname)(pod)
			spread("app", h.app(), v1.LabelTopologyZone)(pod)
		}
		if looksAtOthers(pod) && !hasClaims(pod) {
			return pod
		}
	}
}

// TestKeptPreparationsAnswerAsARebuiltSnapshot asks about pods of the same few classes while
// other pods come, move, end and go, and nodes change seldom.
func TestKeptPreparationsAnswerAsARebuiltSnapshot(t *testing.T) {
	kept, asked := 0, 0
	for seed := range uint64(20) {
		c, h := twinChecker(t), newHistory(seed+500)
		var workloads []*v1.Pod
		for range 6 {
			workloads = append(workloads, h.workload())
		}
		for step := range 160 {
			if step < 12 || h.IntN(25) == 0 {
				h.step(c)
			} else {
				h.changePods(c)
			}
			pod := workloads[h.IntN(len(workloads))].DeepCopy()
			pod.Name += "-" + fmt.Sprint(step)
			pod.UID += "-" + pod.UID
			c.mu.Lock()
			if c.recall(pod) != nil {
				kept++
			}
			c.mu.Unlock()
			asked++
			got, want := texts(c.CheckNodes(pod, twinNodes)), h.rebuilt(t, c, pod, twinNodes)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d, pod %s:\n%q\nwant\n%q", seed, step, pod.Name, got, want)
			}
		}
	}
	if kept < asked/3 {
		t.Errorf("the histories show little: %d of %d questions with what was kept", kept, asked)
	}
	t.Logf("%d of %d questions with what was kept", kept, asked)
}

// changePods takes a step that changes no node.
func (h *history) changePods(c *Checker) {
	switch pod := h.anyPod(); {
	case h.IntN(4) == 0 && pod != nil:
		delete(h.pods, pod.Name)
		c.RemovePod(pod)
	case h.IntN(4) == 0 && pod != nil:
		pod = pod.DeepCopy()
		pod.DeletionTimestamp = &pod.CreationTimestamp
		h.pods[pod.Name] = pod
		c.SetPod(pod)
	default:
		pod = h.pod()
		pod.Spec.NodeName = h.nodeName()
		h.pods[pod.Name] = pod
		c.SetPod(pod)
	}
}

// spreadCluster is nodes in three zones, of which each runs a pod of an application.
func spreadCluster(t *testing.T, nodes int) *Checker {
	t.Helper()
	c, _ := newChecker(t, Options{})
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		c.SetNode(aNode(name, fmt.Sprintf("zone-%d", i%3)))
		c.SetPod(aPod("pod-"+name, placedOn(name), labelled("app", "a")))
	}
	return c
}

// aMember is a pod of the application, which is one of many that are alike.
func aMember(i int, more ...func(*v1.Pod)) *v1.Pod {
	return aPod(fmt.Sprintf("member-%d", i), append(more, labelled("app", "a"), spread("app", "a", v1.LabelTopologyZone))...)
}

// TestPreFilterRunsOnceForAWorkload places the pods of a workload one after the other. Each is
// counted before the next is asked about. Lists of nodes are made for PreFilter alone, so
// how much is allocated tells whether it ran; it must not grow with the cluster.
func TestPreFilterRunsOnceForAWorkload(t *testing.T) {
	allocated := func(nodes int) float64 {
		c := spreadCluster(t, nodes)
		i := 0
		return testing.AllocsPerRun(100, func() {
			pod := aMember(i)
			node := fmt.Sprintf("node-%d", i%3)
			if err := c.Check(pod, node); err != nil {
				t.Fatalf("pod %d: %v", i, err)
			}
			c.SetPod(on(pod, node))
			i++
		})
	}
	if small, large := allocated(30), allocated(300); large > small+50 {
		t.Errorf("%.0f allocations for a pod with 30 nodes, %.0f with ten times as many", small, large)
	}
}

// How many preparations of classes, and changes, are kept.
const keptMost, changesMost = 32, 256

// TestKeptPreparationsAreBounded asks about ten times as many classes as are kept, and makes
// ten times as many changes as are remembered.
func TestKeptPreparationsAreBounded(t *testing.T) {
	c := spreadCluster(t, 3)
	for i := range 10 * keptMost {
		c.Check(aMember(0, labelled("number", fmt.Sprint(i))), "node-0")
	}
	if c.kept.Len() > keptMost {
		t.Errorf("%d preparations are kept", c.kept.Len())
	}
	if c.recall(aMember(0, labelled("number", fmt.Sprint(10*keptMost-2)))) == nil {
		t.Error("one that was used just now is not kept")
	}
	for i := range 20 * changesMost {
		c.SetPod(aPod("moving", placedOn(fmt.Sprintf("node-%d", i%3)), labelled("app", "a")))
		if n := len(c.changes.pods); n > 2*changesMost {
			t.Fatalf("%d changes are remembered", n)
		}
	}
	if c.recall(aMember(0, labelled("number", fmt.Sprint(10*keptMost-2)))) != nil {
		t.Error("a preparation was told of changes that are not remembered")
	}
}

// TestKeptPreparationHearsOfNodesAndFirstAntiAffinity changes what no extension can be told of.
func TestKeptPreparationHearsOfNodesAndFirstAntiAffinity(t *testing.T) {
	c := spreadCluster(t, 3)
	for name, change := range map[string]func(){
		"labels":        func() { c.SetNode(aNode("node-0", "zone-9")) },
		"taints":        func() { n := aNode("node-0", "zone-9"); n.Spec.Taints = []v1.Taint{{Key: "k"}}; c.SetNode(n) },
		"end of node":   func() { c.RemoveNode("node-1") },
		"anti-affinity": func() { c.SetPod(aPod("rival", placedOn("node-2"), apart("app", "a", v1.LabelHostname))) },
	} {
		c.Check(aMember(1), "node-2")
		change()
		if c.recall(aMember(2)) != nil {
			t.Errorf("%s: what was kept is used", name)
		}
	}
	everything := aMember(3)
	everything.Spec.TopologySpreadConstraints[0].LabelSelector = &metav1.LabelSelector{}
	c.Check(everything, "node-2")
	c.SetPod(aPod("other", placedOn("node-2")))
	if c.recall(everything) != nil {
		t.Error("an empty selector: what was kept is used")
	}
}

// TestStateOfSpreadIsUnderstood fails when a new version of the plugin keeps other fields.
func TestStateOfSpreadIsUnderstood(t *testing.T) {
	c := spreadCluster(t, 3)
	c.Check(aMember(1), "node-0")
	if !repairSpread(c.last) {
		t.Error("the state of PodTopologySpread has other fields than are read")
	}
}
