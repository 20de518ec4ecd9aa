package nodefit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/nodefit"
)

// TestAntiAffinity: rules of a pod and of those that run keep it from the nodes of a topology, in
// the cluster of two zones, with n4 in none.
func TestAntiAffinity(t *testing.T) {
	owned, db := ft.Owned("ReplicaSet/web"), ft.Labelled("app=db")
	of := nodes(ft.Node("n0", size, "zone=a"), ft.Node("n1", size, "zone=a"), ft.Node("n2", size, "zone=b"), ft.Node("n3", size, "zone=b"), ft.Node("n4", size, ""))
	const zone, unwanted = "the pod is against a pod of the same zone", "a pod of the same zone is against the pod"
	for name, c := range map[string]struct {
		pod, other *v1.Pod
		want       [5]string
	}{
		"the pod is against one of a zone": {
			ft.Pod("a/p", "n0", "", owned, ft.Apart("app=db", "zone")), ft.Pod("a/o", "n2", "", db),
			[5]string{"", "", zone, zone, ""},
		},
		"one of a zone is against the pod": {
			ft.Pod("a/p", "n0", "", owned, db), ft.Pod("a/o", "n2", "", ft.Apart("app=db", "zone")),
			[5]string{"", "", unwanted, unwanted, ""},
		},
		"one is against pods of another namespace": {
			ft.Pod("b/p", "n0", "", owned, db), ft.Pod("a/o", "n2", "", ft.Apart("app=db", "zone"), elsewhere),
			[5]string{"", "", unwanted, unwanted, ""},
		},
		"one is against pods of its own namespace": {
			ft.Pod("b/p", "n0", "", owned, db), ft.Pod("a/o", "n2", "", ft.Apart("app=db", "zone")), [5]string{},
		},
		"one that is in no zone": {
			ft.Pod("a/p", "n0", "", owned, db), ft.Pod("a/o", "n4", "", ft.Apart("app=db", "zone")), [5]string{},
		},
		"one that has ended": {
			ft.Pod("a/p", "n0", "", owned, db), ft.Pod("a/o", "n2", "", ft.Apart("app=db", "zone"), ft.Phase(v1.PodFailed)), [5]string{},
		},
		"the pod itself": {
			ft.Pod("a/p", "n0", "", owned, db, ft.Apart("app=db", "zone")), ft.Pod("a/o", "n2", ""), [5]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodefit.New(framework.NewSnapshot(framework.Objects{
				Nodes: of, Pods: pods(c.pod, c.other),
				Namespaces: []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: ft.Labels("team=x")}}},
			}, ft.Now))
			var got [5]string
			for i, node := range of {
				if err := n.Fits(c.pod, node.Name); err != nil {
					got[i] = err.Error()
				}
			}
			assert.Equal(t, got, c.want)
		})
	}
}

// TestRulesFollowTheirPods: a rule leaves a zone with the last pod that has it, and comes with a
// replacement, which keeps out others and not the pod that it replaces.
func TestRulesFollowTheirPods(t *testing.T) {
	owned, apart, db := ft.Owned("ReplicaSet/web"), ft.Apart("app=db", "zone"), ft.Labelled("app=db")
	first, second := ft.Pod("a/first", "n0", "", owned, apart), ft.Pod("a/second", "n0", "", owned, apart)
	third := ft.Pod("a/third", "n2", "", owned, db, apart)
	asked := ft.Pod("a/asked", "n1", "", owned, db)
	n := nodefit.New(framework.NewSnapshot(framework.Objects{
		Nodes: nodes(ft.Node("n0", "", "zone=a"), ft.Node("n1", "", "zone=b"), ft.Node("n2", "", "zone=c")), Pods: pods(first, second, third, asked),
	}, ft.Now))
	for i, pod := range pods(first, second) {
		assert.Error(t, n.Fits(asked, "n0"), "a pod of the same zone is against the pod", "after %d", i)
		n.Expect(framework.StandIn(pod, "n2"))
		assert.Equal(t, place(t, n.Book, pod), "n2")
	}
	assert.NilError(t, n.Fits(asked, "n0"))
	assert.Error(t, n.Fits(third, "n2"), "a pod of the same zone is against the pod")
	n.Expect(framework.StandIn(third, "n0"))
	assert.NilError(t, n.Fits(third, "n0"))
	assert.Error(t, n.Fits(asked, "n0"), "a pod of the same zone is against the pod")
	assert.Error(t, n.Fits(first, "n0"), "the pod is against a pod of the same zone")
}

// TestAntiAffinityIsThatOfTheScheduler: where only anti-affinity keeps pods from nodes, NodeFit says what
// the filters of kube-scheduler say, also after evictions.
func TestAntiAffinityIsThatOfTheScheduler(t *testing.T) {
	fits, refused := 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 12))
		h := ft.NewHandle(t, crowd(r), ft.Options{})
		n := nodefit.New(h.Snapshot())
		for _, pod := range h.Snapshot().Pods() {
			if r.IntN(8) == 0 {
				gone, err := h.Landing().Book(pod)
				if err != nil {
					continue // it fits nowhere
				}
				n.Expect(framework.StandIn(pod, gone))
				assert.Equal(t, place(t, n.Book, pod), gone)
				h.Snapshot().Evicted(pod.UID)
				continue
			}
			for _, node := range h.Snapshot().Nodes() {
				want, got := h.Landing().Fits(pod, node.Name), n.Fits(pod, node.Name)
				if (want == nil) != (got == nil) {
					t.Errorf("seed %d: %s on %s: NodeFit says %v, the filters %v", seed, pod.Name, node.Name, got, want)
				}
				if want == nil {
					fits++
				} else {
					refused++
				}
			}
		}
	}
	assert.Assert(t, fits > 1000 && refused > 1000, "%d fit, %d do not", fits, refused)
}

// crowd has pods that are against each other over nodes and zones.
func crowd(r *rand.Rand) (o framework.Objects) {
	for i := range 6 {
		labels := ""
		if zone := r.IntN(4); zone > 0 {
			labels = fmt.Sprintf("zone=%d", zone)
		}
		o.Nodes = append(o.Nodes, ft.Node(fmt.Sprintf("n%d", i), "", labels))
	}
	for i := range 12 {
		edits := []func(*v1.Pod){ft.Owned("ReplicaSet/web"), ft.Labelled(fmt.Sprintf("app=%d", r.IntN(4)))}
		if r.IntN(2) == 0 {
			edits = append(edits, ft.Apart(fmt.Sprintf("app=%d", r.IntN(4)), []string{"zone", v1.LabelHostname}[r.IntN(2)]))
		}
		o.Pods = append(o.Pods, ft.Pod(fmt.Sprintf("a/p%02d", i), fmt.Sprintf("n%d", r.IntN(6)), "", edits...))
	}
	return o
}
