package feasibility

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// TestClusterKeepsItsLaws recounts after each change of random histories what is said
// above the type.
func TestClusterKeepsItsLaws(t *testing.T) {
	for seed := range uint64(5) {
		c, h := twinChecker(t), newHistory(seed+400)
		for step := range 200 {
			h.step(c)
			if err := verify(c.cluster, h); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
		for _, name := range sortedNames(h.pods) {
			c.RemovePod(h.pods[name])
		}
		for name := range h.nodes {
			c.RemoveNode(name)
		}
		x := c.cluster
		if left := len(x.infos) + len(x.pods) + len(x.claims) + len(x.labelled) + len(x.against) + len(x.nodes.list) + len(x.bare.place); left > 0 {
			t.Errorf("seed %d: everything is gone, but %d things are kept: %v", seed, left, x)
		}
	}
}

// verify compares a cluster with a history, and its parts with each other.
func verify(c *cluster, h *history) error {
	again := newCluster()
	for _, node := range h.nodes {
		again.setNode(node)
	}
	for _, pod := range h.pods {
		again.setPod(pod.UID, pod)
	}
	if len(c.pods) != len(h.pods) || len(c.infos) != len(again.infos) {
		return fmt.Errorf("%d pods of %d, %d nodes of %d", len(c.pods), len(h.pods), len(c.infos), len(again.infos))
	}
	for name, want := range again.infos {
		if got := c.infos[name]; got == nil || !slices.Equal(podNames(got), podNames(want)) {
			return fmt.Errorf("node %s has %v, want %v", name, got, want)
		}
	}
	if !maps.Equal(c.claims, again.claims) {
		return fmt.Errorf("claims %v, want %v", c.claims, again.claims)
	}
	for _, pair := range [][2]labelIndex{{c.labelled, again.labelled}, {c.against, again.against}} {
		if !maps.EqualFunc(pair[0], pair[1], samePods) {
			return fmt.Errorf("index %v, want %v", pair[0], pair[1])
		}
	}
	return sameNodes(c, len(h.nodes))
}

func samePods(a, b podSet) bool {
	return maps.EqualFunc(a, b, func(x, y *framework.PodInfo) bool { return x.Pod == y.Pod })
}

// sameNodes says whether the lists of nodes are those of the map.
func sameNodes(c *cluster, known int) error {
	if len(c.nodes.list) != known || len(c.bare.list) != known {
		return fmt.Errorf("%d and %d nodes are listed of %d", len(c.nodes.list), len(c.bare.list), known)
	}
	for i, info := range c.nodes.list {
		name := info.Node().Name
		if c.infos[name] != info || c.nodes.place[name] != i {
			return fmt.Errorf("node %s is listed with what it was", name)
		}
		bare, ok := c.bare.list[c.bare.place[name]].(*nodeView)
		if !ok || bare.NodeInfo != info || len(bare.pods)+len(bare.separating) > 0 {
			return fmt.Errorf("node %s is listed bare with what it was", name)
		}
	}
	return nil
}

func podNames(info *framework.NodeInfo) []string {
	names := make([]string, len(info.Pods))
	for i, pod := range info.Pods {
		names[i] = pod.GetPod().Name
	}
	slices.Sort(names)
	return names
}

// TestViewHasFewPods shows that PreFilter is not shown what cannot match.
func TestViewHasFewPods(t *testing.T) {
	c, _ := newChecker(t, Options{})
	for i := range 10 {
		node := fmt.Sprintf("n%d", i)
		c.SetNode(aNode(node, "z1"))
		c.SetPod(aPod(fmt.Sprintf("p%d", i), placedOn(node), labelled("app", fmt.Sprintf("app-%d", i)),
			apart("rank", fmt.Sprint(i), v1.LabelHostname)))
	}
	tests := []struct {
		name                    string
		pod                     *v1.Pod
		nodes, pods, separating int
	}{
		{"nothing matters", aPod("x"), 0, 0, 0},
		{"one pod is against it", aPod("x", labelled("rank", "3")), 0, 0, 1},
		{"it looks for one", aPod("x", near("app", "app-3", v1.LabelHostname)), 1, 1, 0},
		{"it is against none", aPod("x", apart("app", "new", v1.LabelHostname)), 0, 0, 0},
		{"it spreads over all nodes", aPod("x", spread("app", "app-3", v1.LabelHostname)), 10, 1, 0},
		{"it looks for one twice", aPod("x", near("app", "app-3", v1.LabelHostname), apart("app", "app-3", v1.LabelTopologyZone)), 1, 1, 0},
	}
	for _, test := range tests {
		undo := c.cluster.view(test.pod)
		list, _ := c.cluster.List()
		against, _ := c.cluster.HavePodsWithRequiredAntiAffinityList()
		pods, separating := 0, 0
		for _, info := range list {
			pods += len(info.GetPods())
		}
		for _, info := range against {
			separating += len(info.GetPodsWithRequiredAntiAffinity())
		}
		undo()
		if len(list) != test.nodes || pods != test.pods || separating != test.separating {
			t.Errorf("%s: %d nodes, %d pods, %d against it", test.name, len(list), pods, separating)
		}
	}
	if list, _ := c.cluster.List(); len(list) != 10 {
		t.Errorf("without a view %d nodes are listed", len(list))
	}
}
