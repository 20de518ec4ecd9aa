package feasibility

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
)

// TestNodesComeAndGo shows that pods are counted whatever comes first, and once.
func TestNodesComeAndGo(t *testing.T) {
	c, _ := newChecker(t, Options{})
	big, ask := aPod("p", placedOn("a"), requests("cpu=6")), aPod("x", requests("cpu=4"))
	want := func(when, answerOnA string) {
		t.Helper()
		if got := answer(c.Check(ask, "a")); got != answerOnA {
			t.Errorf("%s: %s, want %s", when, got, answerOnA)
		}
	}
	want("nothing is known", "node is not known")
	c.SetPod(big)
	c.SetPod(big)
	want("a pod came first", "node is not known")
	c.SetNode(aNode("a", "z1"))
	want("the node came", "Insufficient cpu")
	c.RemoveNode("a")
	c.RemoveNode("a")
	want("the node went", "node is not known")
	c.SetNode(aNode("a", "z1"))
	want("the node came back", "Insufficient cpu")
	resized := aPod("p", placedOn("a"), requests("cpu=1"))
	c.SetPod(resized)
	want("the pod was made smaller", "yes")
	c.SetPod(big)
	c.SetPod(aPod("p", placedOn("b"), requests("cpu=6")))
	want("the pod went to another node", "yes")
	c.SetPod(big)
	c.SetPod(aPod("p", requests("cpu=6")))
	want("the pod is on no node", "yes")
	c.SetPod(big)
	c.RemovePod(big)
	c.RemovePod(big)
	want("the pod is gone", "yes")
	c.SetPod(aPod("p", placedOn("a"), requests("cpu=6"), func(p *v1.Pod) { p.UID = "" }))
	want("a pod without UID is not counted", "yes")
	c.RemoveNode("a")
	if infos := len(c.cluster.infos); infos != 0 {
		t.Errorf("%d nodes are kept for nothing", infos)
	}
}

// TestPodIsNotInItsOwnWay asks about a pod that is counted already, on this node or
// another.
func TestPodIsNotInItsOwnWay(t *testing.T) {
	c, _ := newChecker(t, Options{})
	c.SetNode(aNode("a", "z1"))
	c.SetNode(aNode("b", "z1"))
	pod := aPod("x", requests("cpu=8"), hostPorts(80), labelled("app", "x"), apart("app", "x", v1.LabelTopologyZone))
	c.SetPod(on(pod, "a"))
	for _, node := range []string{"a", "b"} {
		if err := c.Check(pod, node); err != nil {
			t.Errorf("on node %s: %v", node, err)
		}
		if err := c.CheckWith(pod, node, []*v1.Pod{pod}, []*v1.Pod{pod}); err != nil {
			t.Errorf("with itself on node %s: %v", node, err)
		}
	}
	if answers := c.CheckNodes(pod, nil); len(answers) != 0 {
		t.Errorf("%d answers for no nodes", len(answers))
	}
	if err := c.Check(aPod("y", hostPorts(80)), "a"); err == nil {
		t.Error("the questions took the pod off its node")
	}
}

// TestNamespaceLabelsMayChange asks the same twice, with a change outside between.
func TestNamespaceLabelsMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := newChecker(t, Options{}, namespaceOf("team", nil))
		endsWith(t, c)
		c.SetNode(aNode("a", "z1"))
		rival := aPod("p", placedOn("a"), inNamespace("other"), apart("app", "x", v1.LabelHostname))
		rival.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{
			MatchLabels: map[string]string{"loud": "yes"},
		}
		c.SetPod(rival)
		pod := aPod("x", labelled("app", "x"))
		if err := c.Check(pod, "a"); err != nil {
			t.Fatal(err)
		}
		loud := namespaceOf("team", map[string]string{"loud": "yes"})
		if _, err := client.CoreV1().Namespaces().Update(t.Context(), loud, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := c.Check(pod, "a"); err == nil {
			t.Error("the labels of the namespace changed, the answer did not")
		}
	})
}

// TestPreparationIsUsedAgain counts how often PreFilter runs while nothing changes.
func TestPreparationIsUsedAgain(t *testing.T) {
	c, _ := newChecker(t, Options{})
	c.SetNode(aNode("a", "z1"))
	pod := aPod("x", apart("app", "x", v1.LabelHostname))
	c.Check(pod, "a")
	first := c.last
	c.Check(pod, "a")
	c.CheckWith(pod, "a", nil, []*v1.Pod{aPod("p")})
	if c.last != first {
		t.Error("PreFilter ran again though nothing changed")
	}
	for _, change := range []struct { // in this order: only a pod that came can go
		what string
		do   func()
	}{
		{"a pod came", func() { c.SetPod(aPod("p", placedOn("a"))) }},
		{"a pod went", func() { c.RemovePod(aPod("p")) }},
		{"a node came", func() { c.SetNode(aNode("c", "z1")) }},
		{"a node went", func() { c.RemoveNode("c") }},
	} {
		c.Check(pod, "a")
		before := c.last
		change.do()
		if c.Check(pod, "a"); c.last == before {
			t.Errorf("%s, but what PreFilter found out is the same", change.what)
		}
	}
}

// TestRefusal shows what is made of what plugins say.
func TestRefusal(t *testing.T) {
	err := errorOf(fwk.NewStatus(fwk.Unschedulable, "b", "a").WithPlugin("P"))
	var refusal *Refusal
	if !errors.As(err, &refusal) || err.Error() != "a, b" || refusal.Unresolvable() || refusal.Plugin != "P" {
		t.Errorf("a refusal is %#v", err)
	}
	if got := answer(errorOf(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "x"))); got != "never: x" {
		t.Errorf("a refusal for ever is %s", got)
	}
	failed := errors.New("no API server")
	if err := errorOf(fwk.AsStatus(failed)); !errors.Is(err, failed) || errors.As(err, &refusal) {
		t.Errorf("a failure is %#v", err)
	}
	if err := errors.Join(errorOf(nil), errorOf(fwk.NewStatus(fwk.Skip))); err != nil {
		t.Errorf("success is %v", err)
	}
}

// TestAllAtOnce is for the race detector: everything is called at once, and each answer
// is one that was right at some moment.
func TestAllAtOnce(t *testing.T) {
	c, _ := newChecker(t, Options{Workers: 2})
	names := make([]string, 0, 200)
	for i := range 200 {
		names = append(names, "n"+string(rune('a'+i%26))+string(rune('a'+i/26)))
		c.SetNode(aNode(names[i], "z1"))
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			h := newHistory(uint64(300 + worker))
			for i := range 60 {
				node := names[(i*7+worker)%len(names)]
				pod := aPod("p"+string(rune('a'+worker)), placedOn(node), requests("cpu=8"), labelled("app", "x"))
				switch h.IntN(6) {
				case 0:
					c.SetNode(aNode(node, "z1"))
				case 1:
					c.RemovePod(pod)
				default:
					c.SetPod(pod)
				}
				ask := aPod("ask", requests("cpu=1"), near("app", "x", v1.LabelTopologyZone), labelled("app", "x"))
				for _, err := range append(c.CheckNodes(ask, names), c.CheckWith(ask, node, []*v1.Pod{aPod("q")}, []*v1.Pod{pod})) {
					if err != nil && err.Error() != "Insufficient cpu" {
						t.Errorf("an answer that was never right: %v", err)
						return
					}
				}
				c.Class(ask)
			}
		})
	}
	group.Wait()
}

func TestInParallel(t *testing.T) {
	for _, n := range []int{0, 1, stride, stride + 1, 10*stride + 3} {
		var calls atomic.Int64
		seen := make([]bool, n)
		inParallel(4, n, func(i int) { calls.Add(1); seen[i] = true })
		if int(calls.Load()) != n || slices.Contains(seen, false) {
			t.Errorf("%d calls for %d", calls.Load(), n)
		}
	}
	defer func() {
		if p := recover(); p != "plugin" {
			t.Errorf("the panic of a worker is %v", p)
		}
	}()
	inParallel(4, 10*stride, func(i int) {
		if i == 5*stride {
			panic("plugin")
		}
	})
}

func TestWaitForSyncEnds(t *testing.T) {
	client := fake.NewClientset()
	c, err := New(t.Context(), client, informers.NewSharedInformerFactory(client, 0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.WaitForSync(ctx); !errors.Is(err, context.Canceled) { // the factory was not started
		t.Errorf("WaitForSync of a cancelled context: %v", err)
	}
}
